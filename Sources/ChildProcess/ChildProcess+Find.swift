import Glibc

extension ChildProcess {
    /// Debian keeps servers in sbin, which not everyone's PATH has.
    private static let systemFolders = ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin"]

    /// Where a program is: in a folder of PATH, or of the system.
    /// - Parameter package: of Debian, which has it.
    /// - Throws: ``ChildProcessFailure/notInstalled(program:package:)``.
    public static func find(_ name: String, package: String) throws(ChildProcessFailure) -> String {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        for folder in path.split(separator: ":").map(String.init) + systemFolders {
            let candidate = "\(folder)/\(name)"
            if access(candidate, X_OK) == 0 { return candidate }
        }
        throw .notInstalled(program: name, package: package)
    }
}
