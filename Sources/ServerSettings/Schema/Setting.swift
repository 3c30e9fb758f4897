import Configuration

/// One thing that can be configured: its name everywhere, what it takes, and what it is for.
public struct Setting: Sendable {
    /// What a value has to be.
    public enum Kind: Equatable, Sendable {
        case integer(ClosedRange<Int>)
        case flag
        case text(longest: Int)
        case choice([String])
        /// `HOST:PORT`, numeric or localhost; `[::1]:7351` for IPv6.
        case address
        /// As ``address``, or the word `off`.
        case addressOrOff
        /// The path of a file that is read, or of a folder.
        case path
        case paths
    }

    /// The part of a running server that takes a change on SIGHUP.
    public enum Part: Sendable {
        case tls, admin, push, tokens, backends, turn, authorization, webhooks
        case connectionLimits, connections, rates, limits, timers, policy, log
    }

    /// Dotted: `listen.port`. A number's key ends in its unit, unless it counts things.
    public let key: String
    public let kind: Kind
    /// One sentence or more, for the reference file.
    public let meaning: String
    /// What holds when nobody says anything; nil where that depends, or is nothing.
    public let standard: ConfigContent?
    /// Says what holds without a value when there is no ``standard``.
    public let standardNote: String
    /// A value for the reference file, where there is no ``standard``.
    public let example: String
    /// The option of `reveille serve`, with its dashes.
    public let flag: String?
    /// nil when a change needs a restart.
    public let part: Part?
    /// Whether it is for the other commands, and no business of the server's.
    public let isForCommands: Bool
    /// Whether the value itself is not to be shown, or of an address only a part. The path of a secret is none.
    public let isSecret: Bool

    init(
        _ key: String, _ kind: Kind, _ standard: ConfigContent? = nil, note: String = "none", example: String = "",
        flag: String? = nil, part: Part? = nil, isForCommands: Bool = false, isSecret: Bool = false, _ meaning: String
    ) {
        self.key = key
        self.kind = kind
        self.standard = standard
        standardNote = note
        self.example = example
        self.flag = flag
        self.part = part
        self.isForCommands = isForCommands
        self.isSecret = isSecret
        self.meaning = meaning
    }

    /// `REVEILLE_` and the key in capitals, with `_` for each dot.
    public var environmentName: String { "REVEILLE_" + key.replacing(".", with: "_").uppercased() }
    /// Whether a running server takes a change on SIGHUP.
    public var isReloadable: Bool { part != nil }
    /// What a change needs to hold: `SIGHUP`, `restart`, or nothing where no server asks.
    public var need: String? { isForCommands ? nil : isReloadable ? "SIGHUP" : "restart" }
    /// Of numbers: the end of the key that names what is counted in.
    public var unit: String? {
        guard case .integer = kind else { return nil }
        return ["seconds", "ms", "days", "bytes"].first { key.hasSuffix("_" + $0) }
    }

    var configKey: AbsoluteConfigKey { AbsoluteConfigKey(key.split(separator: ".").map(String.init)) }
    /// How a source is asked for it.
    var type: ConfigType {
        switch kind {
        case .integer: .int
        case .flag: .bool
        case .text, .choice, .address, .addressOrOff, .path: .string
        case .paths: .stringArray
        }
    }
}
