/// The source of a setting's value.
public enum SettingOrigin: Equatable, Sendable {
    /// An option of the command line.
    case flag(String)
    case environment(String)
    case file(path: String, line: Int)
    /// The default.
    case standard

    /// The sort key of settings: lines of the file first, defaults last.
    var order: (Int, Int) {
        switch self {
        case .file(_, let line): (0, line)
        case .environment: (1, 0)
        case .flag: (2, 0)
        case .standard: (3, 0)
        }
    }
}

extension SettingOrigin: CustomStringConvertible {
    public var description: String {
        switch self {
        case .flag(let name): name
        case .environment(let name): "environment \(name)"
        case .file(let path, let line): "\(path):\(line)"
        case .standard: "default"
        }
    }
}
