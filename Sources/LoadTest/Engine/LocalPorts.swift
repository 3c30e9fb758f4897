import Foundation

/// The ports that this machine gives to connections it makes (ip(7)).
enum LocalPorts {
    /// How many there are, which is how many connections it makes from one address to one address and port; nil where
    /// that cannot be known.
    static var count: Int? {
        let file = FileManager.default.contents(atPath: "/proc/sys/net/ipv4/ip_local_port_range")
        return file.flatMap { count(range: String(decoding: $0, as: UTF8.self)) }
    }

    /// - Parameter range: the first and the last, as the kernel writes them.
    static func count(range: String) -> Int? {
        let ends = range.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        guard ends.count == 2, ends[0] <= ends[1] else { return nil }
        return ends[1] - ends[0] + 1
    }
}
