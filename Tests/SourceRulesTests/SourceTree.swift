import Foundation

/// The project's own files, read once.
struct SourceTree {
    struct File {
        /// From the project's folder.
        let path: String
        let lines: [String]

        var text: String { lines.joined(separator: "\n") }

        /// The modules that it imports.
        var imports: Set<String> {
            Set(
                lines.compactMap { line in
                    guard line.contains("import ") else { return nil }
                    return line.wholeMatch(
                        of:
                            /(?:@\w+ |public |package |internal |private )*import (?:(?:struct|class|enum|func|protocol) )?(\w+).*/
                    ).map { String($0.1) }
                })
        }
    }

    let package: PackageDescription
    let files: [File]
    let articles: [File]
    /// What apps copy: the clients in `Resources/clients`, in any language, without their tests.
    let samples: [File]
    let readmeBytes: Int
    /// The links of the README and of articles, and what they may lead to: all files and folders.
    let linking: [File]
    let paths: Set<String>
    /// The targets of the README's first test pass.
    let firstPass: Set<String>

    static let project = SourceTree(
        root: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent())

    private init(root: URL) {
        func read(_ path: String) -> File {
            let text = (try? String(contentsOf: root.appending(path: path), encoding: .utf8)) ?? ""
            return File(path: path, lines: text.components(separatedBy: "\n"))
        }
        // Links are not followed: what the client for Apple's platforms shares is read once.
        func paths(below folder: String) -> [String] {
            (FileManager.default.enumerator(atPath: root.appending(path: folder).path)?.compactMap { $0 as? String }
                ?? []).map { "\(folder)/\($0)" }
        }
        let all = ["Sources", "Tests", "Resources/clients/apple"].flatMap { paths(below: $0) }.sorted()
        files = all.filter { $0.hasSuffix(".swift") }.map(read)
        articles = all.filter { $0.hasSuffix(".md") }.map(read)
        let languages = [".swift", ".kt", ".js", ".dart", ".py"]
        samples = paths(below: "Resources/clients").sorted().filter { path in
            !path.contains("/Tests/") && languages.contains { path.hasSuffix($0) }
        }.map(read)
        package = PackageDescription(read("Package.swift").text)
        let readme = read("README.md")
        readmeBytes = readme.text.utf8.count
        linking = articles + [readme]
        let top = ["Sources", "Tests", "Resources", "Package.swift", readme.path]
        self.paths = Set(all + paths(below: "Resources") + top)
        let names = read("Tests/pure").text.firstMatch(of: /\^\(([\w|]+)\)Tests\[\.\]/)?.1 ?? ""
        firstPass = Set(names.split(separator: "|").map { $0 + "Tests" })
    }

    init(
        package: PackageDescription, files: [File], articles: [File] = [], samples: [File] = [], readmeBytes: Int = 0,
        linking: [File] = [], paths: Set<String> = [], firstPass: Set<String> = []
    ) {
        (self.package, self.files, self.articles, self.samples) = (package, files, articles, samples)
        (self.readmeBytes, self.linking, self.paths, self.firstPass) = (readmeBytes, linking, paths, firstPass)
    }

    /// The files of one target.
    func files(of target: PackageDescription.Target) -> [File] {
        files.filter { $0.path.hasPrefix(target.folder + "/") }
    }

    func imports(of target: PackageDescription.Target) -> Set<String> {
        files(of: target).reduce(into: []) { $0.formUnion($1.imports) }
    }
}
