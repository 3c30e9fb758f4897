import Foundation
import FoundationXML

/// An element of a page, read by a parser of XML.
final class PageElement {
    let name: String
    let attributes: [String: String]
    private(set) var children: [PageElement] = []
    /// Its own and its children's, in order.
    private(set) var text = ""

    private init(name: String, attributes: [String: String]) {
        self.name = name
        self.attributes = attributes
    }

    /// It and all below it.
    var all: [PageElement] { [self] + children.flatMap(\.all) }

    func first(_ name: String) -> PageElement? { all.first { $0.name == name } }

    struct Malformed: Error {
        let line: Int
        let reason: String
    }

    /// - Throws: ``Malformed``.
    static func root(of page: String) throws -> PageElement {
        let parser = XMLParser(data: Data(page.utf8))
        let reader = Reader()
        parser.delegate = reader
        guard parser.parse(), let root = reader.root else {
            throw Malformed(line: parser.lineNumber, reason: "\(parser.parserError.map { "\($0)" } ?? "no element")")
        }
        return root
    }

    private final class Reader: NSObject, XMLParserDelegate {
        var root: PageElement?
        private var open: [PageElement] = []

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            let element = PageElement(name: name, attributes: attributes)
            open.last?.children.append(element)
            if root == nil { root = element }
            open.append(element)
        }

        func parser(
            _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
        ) {
            open.removeLast()
        }

        func parser(_ parser: XMLParser, foundCharacters text: String) {
            for element in open { element.text += text }
        }
    }
}
