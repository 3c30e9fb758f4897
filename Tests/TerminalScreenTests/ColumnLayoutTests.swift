import Testing

@testable import TerminalScreen

@Suite("Columns")
struct ColumnLayoutTests {
    private static let columns: [ColumnLayout.Column] = [
        .fixed(9), .fixed(6), .init(least: 8, most: 40), .init(least: 8, most: 40), .fixed(5, rank: 1),
        .fixed(5, rank: 2), .init(least: 12, most: 18, rank: 3),
    ]

    @Test("fill the screen without overlapping, and give way by rank", arguments: [20, 40, 47, 60, 80, 100, 200])
    func places(width: Int) {
        let places = ColumnLayout.places(Self.columns, width: width)
        var end = 0
        for place in places.compactMap({ $0 }) {
            #expect(place.start >= end)
            end = place.start + place.width
            #expect(end <= width)
            end += 1
        }
        // A column of a higher rank is only there when those of lower ranks are.
        #expect(places[4] != nil || places[5] == nil)
        #expect(places[5] != nil || places[6] == nil)
        if width >= 34 { #expect(places[..<4].allSatisfy { $0 != nil }) }
        if width >= 80 { #expect(places.allSatisfy { $0 != nil }) }
    }

    @Test("that want more grow alike, up to what they want")
    func growth() {
        let places = ColumnLayout.places([.fixed(4), .init(least: 5, most: 20), .init(least: 5, most: 8)], width: 32)
        #expect(places == [.init(start: 0, width: 4), .init(start: 5, width: 18), .init(start: 24, width: 8)])
    }
}
