import Glibc

extension ChildProcess {
    /// Debian installs servers in sbin, which may be missing in PATH.
    private static let systemFolders = ["/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin"]

    /// The path of a program, from PATH or a system folder.
    /// - Parameter package: the Debian package of the program, for the error.
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
