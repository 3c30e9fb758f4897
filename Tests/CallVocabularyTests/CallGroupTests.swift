import CallVocabulary
import Testing

@Suite struct CallGroupTests {
    @Test("a group prints its delays in the order of its members, the same in each process")
    func description() {
        let members = (1...20).compactMap { Handle("user-\($0)") }
        let delays = Dictionary(uniqueKeysWithValues: members.dropFirst().map { ($0, Duration.seconds(2)) })
        let group = CallGroup(name: "team", strategy: .all, members: members, delays: delays)
        let rest = members.dropFirst().map { ", \($0) after 2.0 seconds" }.joined()
        #expect("\(group)" == "team (all): user-1\(rest)")
    }
}
