/// A table; its cells are markup.
struct MarkupTable {
    private let head: [String]
    private let style: String?
    private var rows: [String] = []

    /// - Parameter style: a class of the style.
    init(head: [String] = [], style: String? = nil) {
        self.head = head
        self.style = style
    }

    var isEmpty: Bool { rows.isEmpty }

    mutating func add(_ cells: [String]) { rows.append(Markup.element("tr", markup: cells.joined())) }

    /// A row that is the title of those below it.
    mutating func addTitle(_ title: String) {
        rows.append("<tr class=\"group\"><th colspan=\"\(head.count)\">\(Markup.escaped(title))</th></tr>")
    }

    /// Scrolls by itself where the page is narrower.
    var markup: String {
        let top = head.isEmpty ? "" : "<thead><tr>\(head.joined())</tr></thead>\n"
        let body = "\(top)<tbody>\n\(rows.joined(separator: "\n"))\n</tbody>"
        return Markup.element("div", class: "wide", markup: Markup.element("table", class: style, markup: body))
    }
}
