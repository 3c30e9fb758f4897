import Foundation

/// The rules of the project that its sources can be read for. Each returns one line for each place that breaks it.
enum SourceRules {
    /// What comes with the toolchain.
    static let systemModules: Set = [
        "Dispatch", "Foundation", "FoundationEssentials", "FoundationXML", "Glibc", "PackageDescription", "Swift",
        "Synchronization", "Testing",
    ]

    /// Targets without I/O, clock, threads and Foundation.
    static let pureTargets = [
        "CallVocabulary", "PushVocabulary", "WireJSON", "SignalProtocol", "Determinism", "CallCore", "PushCore",
        "StoreInterface",
        "CallMonitor", "RecordModel", "Simulation", "SoftphoneSession",
    ]

    /// Targets that play Apple, Google or a phone.
    static let simulators: Set = ["PushSimulator", "PhoneSimulator", "SimulatorEndpoints", "Demo", "LoadTest"]

    /// What a phone of some years ago lacks.
    private static let newerThanPhones = ["InlineArray", "Int128", "Span<", "Mutex<", "Atomic<"]

    /// Targets that wrap a C library, and the one whose protocol two of them share.
    static let wrappers = [
        "CallStore", "ChildProcess", "EventLoop", "HTTP2", "LibWebSockets", "OutgoingHTTP", "PostgresStore",
        "RecordTables", "TLS", "WebPages",
    ]

    /// The declarations of these targets that give a pointer away all the same, and why it outlives its use.
    static let lastingPointers = [
        "EventLoop.rawLoop": "for libwebsockets, whose context holds the loop until it is freed",
        "EventLoop.readBuffer": "of the loop that calls back, which keeps it until its thread ends",
        "EventLoop.runLoop": "nil: the form of a thread's function",
        "EventLoop.uvLoop": "for handles of this target, which hold the loop",
        "LWSContext.string": "private: freed with the context, after the library's use",
        "MessageAssembly.bytes": "of a chunk, which is the argument of a callback and is kept by nobody",
        "OperationReader.take": "private: within the bytes that the reader was given",
        "PostgresConnection.library": "the functions of libpq, which is never unloaded",
        "PostgresLibrary.load": "the functions of libpq, which is never unloaded",
    ]

    /// Where numbers of clients, of other servers or of backends are read.
    private static let peerReaders =
        networkTargets + ["AdminKit", "CallMonitor", "CallVocabulary", "EventLoop", "PostgresStore", "StoreInterface"]
    /// It writes numbers, and reads files of the kernel.
    private static let metrics = "Sources/CallServer/Routes/Metrics/"
    /// Conversions of text that need no range: the end of the path, and the argument.
    private static let rangelessNumbers: [(file: String, argument: String)] = [
        // The scanner has checked the number, which may have a fraction. Infinity is refused, and a time is clamped.
        ("ClientTokens/TokenObject.swift", "text"),
        // Decides only whether a spreadsheet would take the text for a formula.
        ("CallServer/Backend/BackendExport.swift", "text"),
    ]

    static let longestFunction = 70
    static let longestReadme = 10_000

    /// A target imports what `Package.swift` lists for it, and lists nothing else.
    static func imports(_ tree: SourceTree) -> [String] {
        tree.package.targets.filter { $0.kind != .system }.flatMap { target in
            let found = tree.imports(of: target).subtracting(systemModules).subtracting([target.name])
            // Tests list a program to have it built.
            let programs = tree.package.targets.filter { $0.kind == .program }
                .map { $0.name.replacing("-", with: "_") }
            let listed = Set(target.dependencies)
            return found.subtracting(listed).sorted().map { "\(target.name) imports \($0), which is not listed for it" }
                + (found.isEmpty
                    ? []
                    : listed.subtracting(found).subtracting(programs).sorted().map {
                        "\(target.name) lists \($0) and does not import it"
                    })
        }
    }

    static func purity(_ tree: SourceTree) -> [String] {
        pureTargets.flatMap { name -> [String] in
            guard let target = tree.package.target(name) else { return ["there is no target \(name)"] }
            return tree.imports(of: target).intersection(systemModules).subtracting(["Swift"]).sorted()
                .map { "\(name) imports \($0)" }
        }
    }

    /// What an app links for its session is in the standard library of phones.
    static func phones(_ tree: SourceTree) -> [String] {
        tree.package.closure(of: "SoftphoneSession").sorted().flatMap { name -> [String] in
            guard let target = tree.package.target(name), target.kind == .library else {
                return ["SoftphoneSession needs \(name), which is no library of Swift"]
            }
            return tree.files(of: target).flatMap { file in
                places(file) { code, _ in newerThanPhones.contains { code.contains($0) } }.map {
                    "\($0) is newer than some phones"
                }
            }
        }
    }

    static func simulation(_ tree: SourceTree) -> [String] {
        ["CallServer", "ServerSettings"].flatMap { name in
            tree.package.closure(of: name).intersection(simulators).sorted().map { "\(name) needs \($0)" }
        }
    }

    /// One file of what serves and of what operators run names a kind of store; all else has the interface.
    static func storeKinds(_ tree: SourceTree) -> [String] {
        let kinds = [
            "GroupCommitter", "StoreReader", "SQLiteQueries", "CallStore.open", "PostgresCommitter", "PostgresReader",
            "PostgresQueries", "PostgresStore.open",
        ]
        let free = [
            "Sources/CallStore/", "Sources/PostgresStore/", "Sources/Benchmarks/",
            "Sources/CallServer/ServerStore.swift", "Sources/CallServer/StorePlace.swift", "Tests/",
        ]
        return tree.files.filter { file in !free.contains { file.path.hasPrefix($0) } }.flatMap { file in
            places(file) { code, _ in kinds.contains { code.contains($0) } }.map { "\($0) names a kind of store" }
        }
    }

    /// Only what commits says that something is committed; in the server also the loop, of a turn without records.
    static func receipts(_ tree: SourceTree) -> [String] {
        let free = [
            "Sources/CallStore/Committing/", "Sources/PostgresStore/Committing/",
            "Sources/CallServer/Core/CoreLoop.swift", "Sources/Benchmarks/", "Tests/",
        ]
        return tree.files.filter { file in !free.contains { file.path.hasPrefix($0) } }.flatMap { file in
            places(file) { code, _ in code.contains("CommitReceipt(") }.map { "\($0) makes a receipt" }
        }
    }

    /// Files are written in one way, which keeps them private and whole. What makes a file otherwise makes or changes
    /// none at the end of a link: in a folder that others can write, that may be any file.
    static func privateFiles(_ tree: SourceTree) -> [String] {
        let free = [
            // Reports and pages that people ask for by name.
            "Sources/Benchmarks/", "Sources/reveille/Load/LoadFiles.swift",
            "Sources/reveille/Commands/ManualCommand.swift",
            "Tests/", "Resources/",
        ]
        let words = [
            "createFile(", "options: .atomic", "atomically: ", ".write(to: ", ".write(toFile", "forWriting",
            "forUpdating", "OutputStream(", "copyItem(", ".moveItem(", "linkItem(", "replaceItem", "createSymbolicLink",
            "fopen(", "freopen(", "openat(", " creat(", "mkstemp(", "mkostemp(", "symlink(",
        ]
        // What is written to the log, and to a buffer; and what reads.
        let others = ["audit?.write(to: ", "write(to: &", "fopen(path, \"r\")"]
        return tree.files.filter { file in !free.contains { file.path.hasPrefix($0) } }.flatMap { file -> [String] in
            let written = places(file) { code, _ in
                words.contains { code.contains($0) } && !others.contains { code.contains($0) }
            }
            // The logs of processes under test are in a folder that nobody else has.
            let isOfTests = file.path.hasPrefix("Sources/ChildProcess/")
            let made = places(file) { code, _ in
                !isOfTests && code.contains("O_CREAT") && !code.contains("O_EXCL") && !code.contains("O_NOFOLLOW")
            }
            return written.map { "\($0) writes a file without PrivateFile" }
                + made.map { "\($0) makes a file at the end of a link" }
        }
    }

    /// Files are read in one way, which neither waits nor takes a file of any size, and tells one that cannot be read from
    /// none.
    static func readFiles(_ tree: SourceTree) -> [String] {
        let free = [
            // Of tests, and reports and options that people name for one run.
            "Sources/Benchmarks/", "Sources/LoadTest/", "Sources/PushSimulator/", "Sources/SimulatorEndpoints/",
            "Sources/reveille/Load/",
            // Its pages are asked for their size before.
            "Sources/WebPages/PageFolder.swift",
            // Memory-mapped: a log may be large.
            "Sources/CallStore/Integrity/LogCheck.swift", "Tests/", "Resources/",
        ]
        let words = [".contents(atPath: ", "Data(contentsOf: ", "String(contentsOfFile: ", "String(contentsOf: "]
        return tree.files.filter { file in !free.contains { file.path.hasPrefix($0) } }.flatMap { file in
            places(file) { code, _ in words.contains { code.contains($0) } && !code.contains("\"/proc/") }
                .map { "\($0) reads a file without PrivateFile" }
        }
    }

    /// No client compares a server's time with its own clock, which may be minutes wrong: its samples do not read it.
    static func clocks(_ tree: SourceTree) -> [String] {
        let clocks = [
            "Date.now", "Date(", "DateTime.now", "currentTimeMillis", "Instant.now", "time.time(", "datetime.now",
            "CFAbsoluteTimeGetCurrent",
        ]
        return tree.samples.flatMap { file in
            places(file) { code, _ in clocks.contains { code.contains($0) } }.map { "\($0) reads the phone's clock" }
        }
    }

    /// Each unsafe word has a comment in the three lines above it, or on its own.
    static func proofs(_ tree: SourceTree) -> [String] {
        let words = [
            "(unsafe)", "@unchecked", "unsafeDowncast", "unsafeBitCast", "takeRetainedValue", "try!", " as! ",
            "fatalError",
        ]
        return tree.files.filter { !$0.path.hasPrefix("Tests/") }.flatMap { file in
            places(file) { code, index in
                words.contains { code.contains($0) }
                    && !file.lines[max(0, index - 3)...index].contains { $0.contains("//") }
            }.map { "\($0) is unsafe and says not why it holds" }
        }
    }

    /// The rooms that read networks.
    static let networkTargets = [
        "LibWebSockets", "WebSocketServer", "OutgoingHTTP", "HTTP2", "PushClient", "PushCore", "WebhookClient",
        "ClientTokens", "CallServer", "AdminServer", "AdminProtocol", "SignalProtocol", "WireJSON", "WebPages",
        "SoftphoneSession", "SoftphoneKit",
    ]

    /// Where a text is made of bytes in those rooms, by file with the number of places, and why it may be.
    private static let textPlaces: [(reason: String, files: [String: Int])] = [
        (
            "its bytes are known to be ASCII, or are made so",
            [
                "LibWebSockets/RequestHead.swift": 4, "LibWebSockets/HTTPExchange.swift": 1,
                "LibWebSockets/Upgrade.swift": 2, "OutgoingHTTP/AnswerReader.swift": 1, "HTTP2/FieldBlock.swift": 2,
                "PushCore/APNSErrorBody.swift": 1, "PushCore/PushAnswer+WebPush.swift": 1,
                "ClientTokens/Base64URL.swift": 1, "CallServer/Routes/HTTPResponse+Signal.swift": 1,
            ]
        ),
        (
            "it is short",
            [
                "LibWebSockets/ProxyHeader.swift": 1, "LibWebSockets/PeerAddress.swift": 1,
                "LibWebSockets/WebSocketClientConnection.swift": 1, "LibWebSockets/ClientCallbacks.swift": 1,
                "LibWebSockets/LWSContext.swift": 2, "LibWebSockets/LWSLibrary.swift": 1,
                "HTTP2/FrameSession.swift": 3, "PushClient/ProviderConnection.swift": 1,
                "CallServer/Tokens/WakeTokens.swift": 1, "PushCore/Diagnosis/PushDiagnosis.swift": 3,
                "WireJSON/JSONObject.swift": 1,
            ]
        ),
        (
            "ForeignText has looked at all texts of the document, or asks for its length",
            [
                "AdminProtocol/Frames/AdminFrameReader.swift": 8, "AdminProtocol/Frames/AdminError.swift": 1,
                "WireJSON/JSONValue.swift": 3, "SignalProtocol/FieldReader.swift": 1,
            ]
        ),
        (
            "it is shown, or compared byte for byte",
            [
                "PushCore/FCMErrorBody.swift": 1, "ClientTokens/TokenObject.swift": 6,
                "SignalProtocol/DeepFrame.swift": 1, "SignalProtocol/Envelope.swift": 1,
                "SignalProtocol/Client/ServerFrameReader.swift": 2, "AdminProtocol/Frames/AdminFrameWriter.swift": 1,
            ]
        ),
        (
            "it is from a file of this machine, or from the settings",
            [
                "PushClient/FCMServiceAccount.swift": 1, "PushCore/Payload/PayloadProfile.swift": 1,
                "PushCore/Payload/PayloadTemplate+Parsing.swift": 4, "PushCore/Payload/PayloadTemplate.swift": 1,
                "WebhookClient/DeliveryState.swift": 1, "WebhookClient/WebhookEndpoint.swift": 1,
                "ClientTokens/TokenKeySet.swift": 1, "CallServer/DataFolder.swift": 3, "WebPages/WebPages.swift": 1,
                "CallServer/Tokens/RemoteKeySet.swift": 3, "CallServer/Tokens/TokenSettings.swift": 1,
                "CallServer/Routes/Metrics/ProcessFigures.swift": 1, "CallServer/Backend/BackendToken.swift": 2,
                "CallServer/Realm/SharedSecrets.swift": 2, "CallServer/Realm/RealmControl.swift": 1,
                "CallServer/Clock/ClockAnchor.swift": 1, "CallServer/Clock/ClockSources.swift": 1,
                "CallServer/Tokens/TurnCredentials.swift": 1,
            ]
        ),
    ]

    /// What others send becomes a text only where it is ASCII or short (`ForeignText`): in the listed places.
    static func texts(_ tree: SourceTree) -> [String] {
        let words = [
            "(decoding:", "(copying:", "(cString:", "(validatingCString:", "(utf8String:", "String(validating:",
            "String(bytes:", "String(data:", "String(unsafeUninitializedCapacity:", ".longString", "JSONDecoder()",
            "JSONSerialization.jsonObject", "(rawValue: ",
        ]
        // Numbers.
        let numbers = ["StreamID(rawValue: ", "CloseCode(rawValue: ", "init(rawValue: Int"]
        let listed = textPlaces.reduce(into: [:]) { $0.merge($1.files) { $0 + $1 } }
        return tree.files.compactMap { file -> String? in
            let parts = file.path.split(separator: "/")
            guard parts.count > 2, parts[0] == "Sources", networkTargets.contains(String(parts[1])) else { return nil }
            let found = file.lines.indices.flatMap { index -> [String] in
                var code = withoutComment(file.lines[index])
                if code.contains(".init(") { code = code.replacing(".init(", with: "(") }
                guard words.contains(where: { code.contains($0) }) else { return [] }
                func count(_ words: [String]) -> Int { words.reduce(0) { $0 + code.ranges(of: $1).count } }
                return Array(repeating: "\(file.path):\(index + 1)", count: max(0, count(words) - count(numbers)))
            }
            let expected = listed[parts.dropFirst().joined(separator: "/"), default: 0]
            guard found.count != expected else { return nil }
            return "\(file.path) makes \(found.count) texts of bytes, \(expected) of them for a reason: "
                + found.joined(separator: ", ")
        }
    }

    /// Where a delimiter is searched by `Character`, by file with the number of lines, and why it may be.
    private static let characterPlaces: [(reason: String, files: [String: Int])] = [
        (
            "the text is a name of this project, or an id",
            [
                "AdminServer/Log/CallLog.swift": 1, "Benchmarks/Core/CoreScene.swift": 1,
                "LoadTest/Engine/LoadStage.swift": 1,
                "LoadTest/Report/Figures/LoadFigure.swift": 2, "LoadTest/Report/Headlines.swift": 1,
                "ServerSettings/Schema/Setting.swift": 1, "ServerSettings/Sources/NearestKey.swift": 1,
                "reveille/Commands/ServeOptions.swift": 1, "reveille/PushSim/PushSimFault.swift": 4,
                "reveille/Top/TopText.swift": 1, "reveille/Watch/StoryPane.swift": 1,
            ]
        ),
        (
            "it is known to be ASCII, or checked afterwards to be",
            [
                "CallServer/Tokens/KeySetSchedule.swift": 1, "LibWebSockets/WebSocketURL.swift": 1,
                "OutgoingHTTP/AnswerReader.swift": 1, "PushClient/WebPushEndpoint.swift": 1,
                "PushCore/RetryAfter.swift": 1, "PushSimulator/FCM/AccessTokens.swift": 1,
                "PushSimulator/FCM/ServiceAccountGrant.swift": 1, "PushSimulator/WebPush/VAPIDCredentials.swift": 1,
            ]
        ),
        (
            "it reads, and what is not found is refused or does no harm",
            [
                "CallServer/Routes/Metrics/ProcessFigures.swift": 1, "CallStore/FileSystem.swift": 2,
                "CallStore/FolderLock.swift": 1,
                "CallStore/SQLRow.swift": 1, "LibWebSockets/AllowedOrigins.swift": 1,
                "LoadTest/Recording/FailureReason.swift": 1, "LoadTest/Report/LoadCondition.swift": 1,
                "LoadTest/Scenarios/Calls/CallWorkload.swift": 1, "LoadTest/Servers/ProcessUsage.swift": 2,
                "PostgresStore/Connection/PostgresRow.swift": 1, "PushSimulator/Apps/PhoneApp+VoIP.swift": 1,
                "reveille/Commands/PointInTime.swift": 1,
                // The expression of passwords, by scalars.
                "reveille/Output/Misuse.swift": 2,
            ]
        ),
    ]

    /// What writes a format, or reads what it has written, searches bytes or scalars: a quotation mark is one `Character` with
    /// the combining mark behind it, which is found neither to be doubled nor to end a field. `replacingBytes` and `parts` of
    /// `CallVocabulary` search so.
    static func delimiters(_ tree: SourceTree) -> [String] {
        let words = [
            ".replacing(", "replacingOccurrences(", "components(separatedBy", "\".contains(", ".split(separator: \" \"",
        ]
        let listed = characterPlaces.reduce(into: [:]) { $0.merge($1.files) { $0 + $1 } }
        return tree.files.compactMap { file -> String? in
            guard file.path.hasPrefix("Sources/") else { return nil }
            let found = places(file) { code, _ in
                words.contains { code.contains($0) } && !code.contains("utf8") && !code.contains("unicodeScalars")
            }
            let expected = listed[String(file.path.dropFirst("Sources/".count)), default: 0]
            guard found.count != expected else { return nil }
            return "\(file.path) searches \(found.count) times by Character, \(expected) of them for a reason: "
                + found.joined(separator: ", ")
        }
    }

    /// The suite that times each parser of the fuzzer with the worst inputs; nil for one that reads what is the operator's.
    private static let timedParsers: [String: String?] = [
        "json": "WorstFrameTests", "clientFrames": "WorstFrameTests", "serverFrames": "WorstFrameTests",
        "bodies": "WorstFrameTests", "journal": nil, "responses": "AnswerReaderTests",
        "exchanges": "KeySetScheduleTests", "requests": "RequestHeadTests", "proxyHeaders": "ProxyHeaderTests",
        "webSocketFrames": "FrameReaderTests", "profiles": nil, "pushAnswers": "WorstAnswerTests",
        "accessTokens": "WorstAnswerTests", "tokens": "SecretTokenTests", "keys": "TokenKeySetTests",
        // The endpoints of Web Push.
        "urls": "WorstFrameTests",
    ]

    /// What it costs to read the worst inputs is tested for each parser.
    static func costs(_ tree: SourceTree) -> [String] {
        let parsers = tree.files.first { $0.path == "Tests/Fuzzing/Parsers/Parser.swift" }?.lines ?? []
        let timing = tree.files.filter { $0.text.contains("WorstInput.growth(") }.map(\.path)
        return parsers.compactMap { line in
            guard let parser = line.wholeMatch(of: #/ {4}case (\w+)(?: = .*)?/#)?.1 else { return nil }
            if let suite = timedParsers[String(parser)] {
                guard let suite, !timing.contains(where: { $0.hasSuffix("/\(suite).swift") }) else { return nil }
            }
            return "no suite times the parser \(parser) with the worst inputs"
        }
    }

    /// What a C library owns is passed to a closure: nothing keeps it alive after the return of a function or property.
    static func pointers(_ tree: SourceTree) -> [String] {
        var named: Set<String> = []
        let files = wrappers.compactMap { tree.package.target($0) }.flatMap { tree.files(of: $0) }
        let found = files.flatMap { file -> [String] in
            let type = file.path.split(separator: "/").last?.prefix { $0 != "." } ?? ""
            return file.lines.indices.compactMap { index -> String? in
                guard let name = pointerName(file.lines, index) else { return nil }
                guard lastingPointers["\(type).\(name)"] == nil else {
                    named.insert("\(type).\(name)")
                    return nil
                }
                return "\(file.path):\(index + 1): \(name) gives away a pointer; pass it to a closure"
            }
        }
        // Only in the whole tree.
        let isWhole = wrappers.allSatisfy { tree.package.target($0) != nil }
        let unknown = isWhole ? Set(lastingPointers.keys).subtracting(named).sorted() : []
        return found + unknown.map { "\($0) gives away no pointer; it is no exception" }
    }

    /// The name of what is declared in the line, or ends its declaration there, with a pointer as its type; nil for
    /// other lines, for variables of a function and for private properties.
    private static func pointerName(_ lines: [String], _ index: Int) -> String? {
        let code = withoutComment(lines[index])
        guard code.contains("Unsafe") else { return nil }
        if let arrow = code.ranges(of: "->").last,
            code[arrow.upperBound...].prefix(while: { $0 != "{" }).contains(/Unsafe\w*Pointer/)
        {
            // The name may be some lines above the arrow.
            return lines[...index].suffix(8).reversed().lazy.compactMap { line in
                line.firstMatch(of: /\bfunc (\w+)|\b(subscript)\b/).map { String($0.1 ?? $0.2 ?? "") }
            }.first
        }
        guard let match = code.firstMatch(of: /\b(?:let|var) (\w+)(?:: \[?| = )Unsafe\w*Pointer/),
            !code.contains(/\b(?:file)?private\b(?!\(set\))/)
        else { return nil }
        return isMember(lines, index) ? String(match.1) : nil
    }

    static func withoutComment(_ line: String) -> Substring {
        line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line[...]
    }

    /// Whether the declaration in the line is a type's, or nobody's, and not a function's.
    static func isMember(_ lines: [String], _ index: Int) -> Bool {
        let depth = lines[index].prefix { $0 == " " }.count
        let around = lines[..<index].last(where: { !$0.isEmpty && $0.prefix { $0 == " " }.count < depth })
        return around.map { $0.contains(/\b(?:actor|class|enum|extension|protocol|struct) \w/) } ?? true
    }

    /// A number in the text of others is read by `Int(digits:in:)`: digits only, and a range.
    static func peerNumbers(_ tree: SourceTree) -> [String] {
        let ofC = ["strto", "atoi(", "atol(", "atof(", "sscanf("]
        let names = ["Int", "Int8", "Int16", "Int32", "Int64", "Double", "Float"].flatMap { ["\($0)(", "\($0).init"] }
        let files = tree.files.filter { file in
            peerReaders.contains { file.path.hasPrefix("Sources/\($0)/") } && !file.path.hasPrefix(metrics)
        }
        return files.flatMap { file in
            places(file) { code, index in
                // A regular expression for each line takes a minute in a debug build.
                if ofC.contains(where: { code.contains($0) }) { return true }
                if code.contains("? = .init("),
                    code.contains(/: (?:U?Int(?:8|16|32|64|128)?|Double|Float)\? = \.init\(\w+[^:\w]/)
                {
                    return true
                }
                guard names.contains(where: { code.contains($0) }) else { return false }
                let previous = index > 0 ? file.lines[index - 1] : ""
                let next = index + 1 < file.lines.count ? file.lines[index + 1] : ""
                return NumberConversion.all(in: code).contains { conversion in
                    conversion.isOfText(between: previous, and: next)
                        && !rangelessNumbers.contains {
                            file.path.hasSuffix($0.file) && conversion.argument == Substring($0.argument)
                        }
                }
            }.map { "\($0) reads a number without a range" }
        }
    }

    /// A deadline of the core that can be cancelled takes the place of the one before: a second one would outlive its
    /// subject.
    static func deadlines(_ tree: SourceTree) -> [String] {
        let files = tree.files.filter {
            $0.path.hasPrefix("Sources/CallCore/") && !$0.path.hasSuffix("/CallCore.swift")
        }
        return files.flatMap { file in
            places(file) { code, _ in code.contains(" = deadlines.add(") && !code.contains("_ = deadlines.add(") }
                .map { "\($0) sets a deadline beside the one before" }
        }
    }

    static func functionLengths(_ tree: SourceTree) -> [String] {
        let keywords = ["func ", "init", "deinit"]
        return tree.files.flatMap { file in
            file.lines.indices.compactMap { index -> String? in
                // A regular expression for each line takes a minute in a debug build.
                let line = file.lines[index]
                guard keywords.contains(where: { line.contains($0) }),
                    let match = line.prefixMatch(
                        of: /(\s*)(?:@?\w+(?:\([^)]*\))? )*(?:func |init[?(<]|deinit)/)
                else { return nil }
                let end = file.lines[index...].firstIndex { $0 == match.1 + "}" }
                let next = file.lines[(index + 1)...].firstIndex { !$0.isEmpty && !$0.hasPrefix(String(match.1)) }
                guard let end, end < next ?? .max, end - index + 1 > longestFunction else { return nil }
                return "\(file.path):\(index + 1): a function of \(end - index + 1) lines"
            }
        }
    }

    /// Two types that everybody sees have two names.
    static func names(_ tree: SourceTree) -> [String] {
        var places: [String: [String]] = [:]
        for file in tree.files where file.path.hasPrefix("Sources/") {
            for line in file.lines {
                guard line.contains("public ") else { continue }
                let declaration =
                    /(?:@\w+ )*public (?:final |indirect )*(?:struct|class|enum|protocol|actor|typealias) (\w+).*/
                if let match = line.wholeMatch(of: declaration) {
                    places[String(match.1), default: []].append(file.path)
                }
            }
        }
        return places.filter { $0.value.count > 1 }.map { "\($0.key) is in \($0.value.joined(separator: " and in "))" }
            .sorted()
    }

    /// Each target that others import has an article, which names what it imports itself.
    static func articles(_ tree: SourceTree) -> [String] {
        tree.package.targets.filter { $0.kind == .library && $0.folder.hasPrefix("Sources/") }.compactMap { target in
            guard !tree.files(of: target).isEmpty else { return nil }
            let path = "\(target.folder)/\(target.name).docc/\(target.name).md"
            guard let article = tree.articles.first(where: { $0.path == path }) else { return "there is no \(path)" }
            let list = target.dependencies.map { "`\($0)`" }.joined(separator: ", ")
            let line = "Imports: \(list.isEmpty ? "nothing" : list)."
            return article.lines.contains(line) ? nil : "\(path) does not say \"\(line)\""
        }
    }

    /// Each Swift file that an article names exists. A name may begin with folders.
    static func namedFiles(_ tree: SourceTree) -> [String] {
        let paths = tree.files.map { "/" + $0.path }
        return tree.articles.flatMap { article in
            article.text.matches(of: /`([\w\/+.-]+\.swift)`/).map { String($0.1) }.filter { name in
                name != "Package.swift" && !paths.contains { $0.hasSuffix("/" + name) }
            }.map { "\(article.path) names \($0), which does not exist" }
        }
    }

    /// Each test suite or test target that an article names exists: `CallTableTests`, `CallCoreTests`.
    static func namedSuites(_ tree: SourceTree) -> [String] {
        let parts = tree.files.flatMap { file in file.path.split(separator: "/") }
        let names = Set(parts.map { part in String(part.prefix { $0 != "." }) })
        return tree.articles.flatMap { article in
            article.text.matches(of: /`(\w+Tests)`/).map { String($0.1) }.filter { !names.contains($0) }
                .map { "\(article.path) names \($0), which does not exist" }
        }
    }

    /// Each link of an article leads to a file or folder, and each `#` behind it to a heading there.
    static func links(_ tree: SourceTree) -> [String] {
        tree.linking.flatMap { article -> [String] in
            let links = article.text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
            return links.filter { !$0.contains(":") && !leads($0, from: article, in: tree) }
                .map { "\(article.path) links to \($0), which does not exist" }
        }
    }

    private static func leads(_ link: String, from article: SourceTree.File, in tree: SourceTree) -> Bool {
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        var path = article.path.split(separator: "/")
        if !parts[0].isEmpty { path.removeLast() }
        for part in parts[0].split(separator: "/") {
            if part == ".." { _ = path.popLast() } else { path.append(part) }
        }
        let target = path.joined(separator: "/")
        guard tree.paths.contains(target) else { return false }
        guard parts.count > 1, let file = tree.linking.first(where: { $0.path == target }) else { return true }
        return file.lines.contains { $0.hasPrefix("#") && anchor(of: $0) == parts[1] }
    }

    /// As renderers of Markdown make it: the heading in small letters, without punctuation, with a hyphen for a blank.
    private static func anchor(of heading: String) -> String {
        String(
            heading.drop { $0 == "#" }.dropFirst().lowercased().compactMap { character -> Character? in
                if character == " " { return "-" }
                return character.isLetter || character.isNumber || "-_".contains(character) ? character : nil
            })
    }

    /// The tests of the first pass, which runs all of them at the same time, are those without sockets and processes.
    /// They read no clock: what takes long is measured by `WorstInput`, which counts the processor's time.
    static func passes(_ tree: SourceTree) -> [String] {
        let pure = tree.package.targets.filter { target in
            target.kind == .tests
                && tree.package.closure(of: target.name).isDisjoint(with: ["EventLoop", "ChildProcess"])
        }.map(\.name)
        return tree.firstPass.subtracting(pure).sorted().map { "\($0) has sockets or processes, and is in Tests/pure" }
            + Set(pure).subtracting(tree.firstPass).sorted().map { "\($0) is missing in Tests/pure" }
            + tree.files.filter { file in
                tree.firstPass.contains { file.path.hasPrefix("Tests/\($0)/") && $0 != "SourceRulesTests" }
                    && file.text.contains(/(Continuous|Suspending)Clock/)
            }.map { "\($0.path) reads a clock, and is in Tests/pure" }
    }

    static func readme(_ tree: SourceTree) -> [String] {
        tree.readmeBytes > longestReadme ? ["README.md has \(tree.readmeBytes) bytes"] : []
    }

    /// The lines of code, without comments, that `isFound` takes.
    private static func places(_ file: SourceTree.File, _ isFound: (Substring, Int) -> Bool) -> [String] {
        file.lines.indices.compactMap { index in
            isFound(withoutComment(file.lines[index]), index) ? "\(file.path):\(index + 1)" : nil
        }
    }
}

/// `Int(…)` and its like in a line of code.
private struct NumberConversion {
    /// The line before and after it.
    let before: Substring
    let after: Substring
    /// nil for `Int.init`, which converts whatever it is given.
    let argument: Substring?

    static func all(in code: Substring) -> [NumberConversion] {
        code.matches(of: /(?:^|[^\w.])(U?Int(?:8|16|32|64|128)?|Double|Float)(\(|\.init\b)/).map { match in
            let rest = code[match.range.upperBound...]
            var depth = 1
            let end = rest.firstIndex { character in
                if character == "(" { depth += 1 }
                if character == ")" { depth -= 1 }
                return depth == 0
            }
            return NumberConversion(
                before: code[..<match.1.startIndex], after: rest[(end ?? rest.endIndex)...].dropFirst(),
                argument: match.2 == "(" ? rest[..<(end ?? rest.endIndex)] : nil)
        }
    }

    /// What texts are called, and are made by.
    private static let words = [
        "String(", "text", "digits", "words", "parts", "radix:", ".prefix", ".suffix", ".drop", "query", "fields[",
        "field(", "header(",
    ]

    /// Whether it seems to convert a text: by its argument, or because only such a conversion can fail.
    /// - Parameters:
    ///   - previous: the line above.
    ///   - following: the line below.
    func isOfText(between previous: String, and following: String) -> Bool {
        guard let argument else { return true }
        // An initializer with a label, a size, or a number of C.
        if argument.prefixMatch(of: /\w+:/) != nil { return false }
        if ["ount", ".rawValue"].contains(where: { argument.hasSuffix($0) }) { return false }
        if argument.hasPrefix("\"") || Self.words.contains(where: { argument.contains($0) }) { return true }
        let line = before.drop { $0 == " " }
        let isCondition =
            ["guard ", "if ", "while ", "} else if "].contains { line.hasPrefix($0) } || previous.hasSuffix(",")
        if isCondition, before.contains(/(?:let|var) \w+ = $/) { return true }
        if ["flatMap", "compactMap", "split("].contains(where: { before.contains($0) }) { return true }
        if after.allSatisfy({ $0 == " " }), isOptional(in: following.drop { $0 == " " }) { return true }
        let next = after.drop { $0 == " " }
        return ["??", "?.", "== nil", "!= nil"].contains { next.hasPrefix($0) }
            || next.hasPrefix("!") && !next.hasPrefix("!=")
    }

    /// Whether the line below goes on, or uses the number, as if it could be missing.
    private func isOptional(in following: Substring) -> Bool {
        if ["??", "?."].contains(where: { following.hasPrefix($0) }) { return true }
        guard let name = before.firstMatch(of: /(?:let|var) (\w+) = $/)?.1 else { return false }
        let uses = ["\(name) ??", "\(name)?.", "let \(name)", "\(name) == nil", "\(name) != nil"]
        return uses.contains { following.contains($0) }
    }
}
