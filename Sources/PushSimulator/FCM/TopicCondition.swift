/// Topics joined by `&&` and `||`: `'news' in topics && ('sport' in topics || 'chess' in topics)`. Pure.
indirect enum TopicCondition: Equatable {
    case topic(String)
    case both(TopicCondition, TopicCondition)
    case either(TopicCondition, TopicCondition)

    private static let mostTopics = 5
    private static let longest = 1024

    init?(_ text: String) {
        guard text.utf8.count <= Self.longest else { return nil }
        var parser = Parser(rest: Substring(text))
        guard let condition = parser.alternatives(depth: 0), parser.rest.allSatisfy(\.isWhitespace),
            condition.topics <= Self.mostTopics
        else { return nil }
        self = condition
    }

    private var topics: Int {
        switch self {
        case .topic: 1
        case .both(let a, let b), .either(let a, let b): a.topics + b.topics
        }
    }

    func holds(for subscribed: (String) -> Bool) -> Bool {
        switch self {
        case .topic(let topic): subscribed(topic)
        case .both(let a, let b): a.holds(for: subscribed) && b.holds(for: subscribed)
        case .either(let a, let b): a.holds(for: subscribed) || b.holds(for: subscribed)
        }
    }

    private struct Parser {
        var rest: Substring

        private mutating func take(_ word: String) -> Bool {
            rest = rest.drop(while: \.isWhitespace)
            guard rest.hasPrefix(word) else { return false }
            rest = rest.dropFirst(word.count)
            return true
        }

        mutating func alternatives(depth: Int) -> TopicCondition? {
            guard var found = parts(depth: depth) else { return nil }
            while take("||") {
                guard let next = parts(depth: depth) else { return nil }
                found = .either(found, next)
            }
            return found
        }

        private mutating func parts(depth: Int) -> TopicCondition? {
            guard var found = part(depth: depth) else { return nil }
            while take("&&") {
                guard let next = part(depth: depth) else { return nil }
                found = .both(found, next)
            }
            return found
        }

        private mutating func part(depth: Int) -> TopicCondition? {
            if take("(") {
                // Five topics need little nesting.
                guard depth < 8, let inner = alternatives(depth: depth + 1), take(")") else { return nil }
                return inner
            }
            guard take("'") else { return nil }
            let name = rest.prefix { $0 != "'" }
            rest = rest.dropFirst(name.count)
            guard take("'"), take("in"), take("topics"), let topic = FCMSendRequest.topicName(name) else { return nil }
            return .topic(topic)
        }
    }
}
