import Foundation

/// The targets that `Package.swift` lists, and what each may import.
struct PackageDescription {
    struct Target {
        enum Kind: String { case library, program, tests, system }

        let name: String
        let kind: Kind
        /// Modules, in the order of the list.
        let dependencies: [String]
        /// Its folder, from the project's own.
        let folder: String
    }

    let targets: [Target]

    /// - Parameters:
    ///   - text: a `Package.swift` in the form that this project's has: targets by `library`, `tests`, `system` and
    ///     the methods of `Target`, dependencies by name, by a constant or by `product`.
    init(_ text: String) {
        var constants: [String: String] = [:]
        for match in text.matches(of: /let (\w+) = Target\.Dependency\.product\(name: "(\w+)"/) {
            constants[String(match.1)] = String(match.2)
        }
        var targets: [Target] = []
        let short = /\b(library|tests|system)\(\s*"([\w-]+)"(?:,\s*\[([^\]]*)\])?/
        for match in text.matches(of: short) {
            let name = String(match.2)
            let kind = Target.Kind(rawValue: String(match.1))!
            targets.append(
                Target(
                    name: name, kind: kind, dependencies: Self.modules(match.3 ?? "", constants),
                    folder: (kind == .tests ? "Tests/" : "Sources/") + name))
        }
        let long =
            /\.(executableTarget|target|testTarget|systemLibrary)\(\s*name: "([\w-]+)"(?:,\s*dependencies: \[([^\]]*)\])?(?:,\s*path: "([^"]*)")?/
        for match in text.matches(of: long) {
            let name = String(match.2)
            let kind: Target.Kind =
                switch match.1 {
                case "executableTarget": .program
                case "testTarget": .tests
                case "systemLibrary": .system
                default: .library
                }
            let folder = match.4.map(String.init) ?? (kind == .tests ? "Tests/" : "Sources/") + name
            targets.append(
                Target(
                    name: name, kind: kind, dependencies: Self.modules(match.3 ?? "", constants), folder: folder))
        }
        self.targets = targets
    }

    func target(_ name: String) -> Target? { targets.first { $0.name == name } }

    /// A target's dependencies within the package, theirs, and so on, with itself.
    func closure(of name: String) -> Set<String> {
        var found: Set<String> = []
        var open = [name]
        while let next = open.popLast() {
            guard let target = target(next), found.insert(next).inserted else { continue }
            open += target.dependencies
        }
        return found
    }

    private static func modules(_ list: Substring, _ constants: [String: String]) -> [String] {
        var modules: [String] = []
        for match in list.matches(of: /\.product\(name: "(\w+)"[^)]*\)|"([\w-]+)"|\b(\w+)\b/) {
            if let name = match.1 ?? match.2 {
                modules.append(String(name).replacing("-", with: "_"))
            } else if let name = match.3, let module = constants[String(name)] {
                modules.append(module)
            }
        }
        return modules
    }
}
