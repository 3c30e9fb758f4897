/// Who said what holds for a setting.
public enum SettingOrigin: Equatable, Sendable {
    /// An option of the command line.
    case flag(String)
    case environment(String)
    case file(path: String, line: Int)
    /// Nobody: the default.
    case standard

    /// What the settings are in the order of this: first a line of the file, last what nobody said.
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
