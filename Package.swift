// swift-tools-version: 6.2
import PackageDescription

/// Every target is built in Swift 6 language mode with warnings as errors.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let log = Target.Dependency.product(name: "Logging", package: "swift-log")
/// Keeps what is logged.
let memoryLog = Target.Dependency.product(name: "InMemoryLogging", package: "swift-log")
let jwt = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
/// The C interface of the SQLite that GRDB uses.
let sqlite = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
/// Sources of settings in order; its file formats (the traits) keep no lines, so files are read with Yams.
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")

/// A library of the project. What it may import is the list given here and nothing else.
func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

func system(_ name: String, pkgConfig: String, apt: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([apt])])
}

let package = Package(
    name: "reveille",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "reveille", targets: ["reveille"]),
        .executable(name: "reveille-sim", targets: ["reveille-sim"]),
        .executable(name: "reveille-bench", targets: ["reveille-bench"]),
        .library(name: "SoftphoneKit", targets: ["SoftphoneKit"]),
        .library(name: "SoftphoneSession", targets: ["SoftphoneSession"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        // C libraries. Each is imported by exactly one Swift target.
        system("CLibUV", pkgConfig: "libuv", apt: "libuv1-dev"),
        system("CLibWebSockets", pkgConfig: "libwebsockets", apt: "libwebsockets-dev"),
        system("CNGHTTP2", pkgConfig: "libnghttp2", apt: "libnghttp2-dev"),
        .target(name: "COpenSSL", linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]),
        // What glibc has and Swift's module of it does not declare.
        .systemLibrary(name: "CLinux"),
        // Counts what a program allocates, for benchmarks; whatever links it has its malloc counted.
        .target(name: "CAllocations"),
        // The files of Resources/web, and zlib.
        .target(name: "CWebPages", linkerSettings: [.linkedLibrary("z")]),
        // A SQLite VFS with page checksums.
        .target(name: "CPageChecksums", linkerSettings: [.linkedLibrary("sqlite3")]),

        // The functions of libpq, loaded when they are first needed.
        .target(name: "CPostgreSQL"),

        // Pure: no I/O, no clock, no Foundation.
        library("CallVocabulary"),
        library("PushVocabulary", ["CallVocabulary"]),
        library("WireJSON", ["CallVocabulary"]),
        library("SignalProtocol", ["CallVocabulary", "WireJSON"]),
        library("Determinism", ["CallVocabulary"]),
        library("AdminProtocol", ["CallVocabulary"]),
        library("CallEvents", ["AdminProtocol", "CallCore", "CallVocabulary", "WireJSON"]),
        library("CallCore", ["PushVocabulary", "CallVocabulary", "Determinism", deque]),
        library("PushCore", ["PushVocabulary", "CallVocabulary", "Determinism", "WireJSON", crypto, deque]),
        library("SoftphoneSession", ["CallVocabulary", "Determinism", "SignalProtocol"]),
        library("CallMonitor", ["AdminProtocol", "CallVocabulary", "CallCore"]),
        library("StoreInterface", ["CallVocabulary", "CallCore"]),
        library("RecordModel", ["CallVocabulary", "CallCore"]),
        library(
            "Simulation", ["RecordModel", "PushVocabulary", "CallVocabulary", "Determinism", "CallCore", "PushCore"]),

        // No I/O and no clock; Foundation for Base64 and dates.
        library(
            "ClientTokens",
            ["CallVocabulary", "WireJSON", crypto, .product(name: "CryptoExtras", package: "swift-crypto")]),

        // I/O, one C library each.
        library("EventLoop", ["CLibUV"]),
        library("TLS", ["COpenSSL", "EventLoop"]),
        library("LibWebSockets", ["CLibWebSockets", "CallVocabulary", "EventLoop", "TLS"]),
        library("HTTP2", ["CNGHTTP2", "EventLoop", "TLS", deque]),
        library("OutgoingHTTP", ["CallVocabulary", "EventLoop", "TLS"]),
        library(
            "RecordTables", ["CallVocabulary", "CallCore", "CallEvents", "EventLoop", "StoreInterface", deque]),
        library(
            "CallStore",
            [
                "CPageChecksums", "CallVocabulary", "CallCore", "EventLoop", "RecordTables", "StoreInterface", deque,
                grdb, sqlite,
            ]),

        library(
            "PostgresStore",
            ["CPostgreSQL", "CallVocabulary", "CallCore", "EventLoop", "RecordTables", "StoreInterface", deque]),

        library("ChildProcess", ["CLinux"]),

        // The products built from them.
        library("ServerLog", ["CallVocabulary", "EventLoop", log]),
        library("WebSocketServer", ["TLS", "LibWebSockets", "EventLoop"]),
        library("WebPages", ["CWebPages", "LibWebSockets", crypto]),
        library(
            "PushClient",
            [
                "TLS", "PushVocabulary", "CallVocabulary", "PushCore", "EventLoop", "HTTP2", crypto, deque, jwt, log,
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
        library(
            "WebhookClient",
            [
                "AdminProtocol", "CallVocabulary", "Determinism", "EventLoop", "OutgoingHTTP", "StoreInterface", "TLS",
                crypto, deque, log,
            ]),
        library(
            "AdminServer",
            [
                "TLS", "AdminProtocol", "CallMonitor", "CallVocabulary", "CallCore", "EventLoop", "LibWebSockets",
                "ServerLog",
                "StoreInterface", "WebSocketServer", "WebhookClient", log,
            ]),
        library(
            "CallServer",
            [
                "TLS", "AdminServer", "CLinux", "ClientTokens", "PushVocabulary", "AdminProtocol", "CallMonitor",
                "CallVocabulary", "CallCore", "Determinism", "PushCore", "PushClient", "SignalProtocol", "EventLoop",
                "WebPages", "WebSocketServer", "WebhookClient", "CallStore", "PostgresStore", "RecordTables",
                "LibWebSockets", "ServerLog", "StoreInterface", "OutgoingHTTP", "WireJSON",
                log,
                crypto,
                deque,
            ]),
        library(
            "ServerSettings",
            [
                "TLS", "CallVocabulary", "CallCore", "CallServer", "ClientTokens", "StoreInterface", "EventLoop",
                "HTTP2", "LibWebSockets", "OutgoingHTTP",
                "PushClient", "PushCore", "WebPages", "WebSocketServer", "WebhookClient", configuration, log,
                .product(name: "Yams", package: "Yams"),
            ]),
        library(
            "PushSimulator",
            [
                "TLS", "ClientTokens", "PushVocabulary", "CallVocabulary", "Determinism", "EventLoop", "HTTP2", crypto,
                jwt,
                log,
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
        library("SoftphoneKit", ["CallVocabulary", "EventLoop", "LibWebSockets", "SoftphoneSession"]),
        // How to push to the simulator that ran on a folder.
        library("SimulatorEndpoints", ["TLS", "CallVocabulary", "HTTP2", "PushClient", "PushSimulator"]),
        library("AdminKit", ["TLS", "AdminProtocol", "CallVocabulary", "EventLoop", "LibWebSockets"]),
        library(
            "PhoneSimulator",
            [
                "TLS", "CallVocabulary", "EventLoop", "HTTP2", "OutgoingHTTP", "PushSimulator", "SoftphoneKit",
                "SoftphoneSession",
            ]),
        library(
            "Demo",
            [
                "CallVocabulary", "CallCore", "CallServer", "StoreInterface", "EventLoop", "PhoneSimulator",
                "PushSimulator", "SimulatorEndpoints", "SoftphoneKit", "SoftphoneSession", log,
            ]),
        library(
            "LoadTest",
            [
                "TLS", "PushVocabulary", "AdminKit", "AdminProtocol", "CLinux", "CallMonitor", "CallVocabulary",
                "CallCore", "CallStore", "StoreInterface", "CallServer",
                "ChildProcess", "Determinism", "EventLoop", "HTTP2", "LibWebSockets", "PhoneSimulator",
                "PushSimulator", "SoftphoneKit", "SoftphoneSession", deque, histogram,
            ]),
        library("TerminalScreen"),
        .executableTarget(
            name: "reveille",
            dependencies: [
                "TLS", "AdminServer", "PushVocabulary", "AdminKit", "AdminProtocol", "CallMonitor", "CallVocabulary",
                "CallCore", "CallServer", "CallStore", "ClientTokens",
                "StoreInterface", "Demo", "EventLoop", "LibWebSockets", "LoadTest", "PhoneSimulator", "PushClient",
                "PushCore",
                "PushSimulator", "ServerLog", "ServerSettings", "SimulatorEndpoints", "SoftphoneKit",
                "SoftphoneSession", "TerminalScreen", log,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: strict),

        .executableTarget(
            name: "reveille-sim",
            dependencies: ["Simulation", .product(name: "ArgumentParser", package: "swift-argument-parser")],
            swiftSettings: strict),

        library(
            "Benchmarks",
            [
                "TLS", "PushVocabulary", "CAllocations", "CallCore", "CallMonitor", "CallStore", "CallVocabulary",
                "ChildProcess", "Determinism", "EventLoop", "HTTP2", "PostgresStore", "PushClient", "PushCore",
                "RecordTables", "SignalProtocol", "StoreInterface", "WireJSON", log,
            ]),
        .executableTarget(
            name: "reveille-bench",
            dependencies: [
                "Benchmarks", "StoreInterface", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict),

        // What has happened so far, from any thread, for tests that wait for it.
        .target(name: "EventJournal", path: "Tests/EventJournal", swiftSettings: strict),
        // What a test leaves as it was: steps at its end, ports, a process of its own.
        .target(
            name: "TestCleanup", dependencies: ["ChildProcess"], path: "Tests/TestCleanup", swiftSettings: strict),
        // What is logged, as lines of text.
        .target(name: "LogCapture", dependencies: [log, memoryLog], path: "Tests/LogCapture", swiftSettings: strict),
        // A provider that answers as a test says.
        .target(
            name: "PushTestServer",
            dependencies: ["TLS", "CallVocabulary", "ChildProcess", "PushClient", "EventLoop", "HTTP2", crypto, jwt],
            path: "Tests/PushTestServer", swiftSettings: strict),

        // A PostgreSQL cluster for tests.
        .target(
            name: "StoreTesting", dependencies: ["ChildProcess", "StoreInterface"], path: "Tests/StoreTesting",
            swiftSettings: strict),

        // Texts broken a little, by a seeded generator.
        .target(
            name: "ByteMutation", dependencies: ["Determinism"], path: "Tests/ByteMutation", swiftSettings: strict),
        // The properties of the parsers of untrusted bytes.
        .target(
            name: "Parsers",
            dependencies: [
                "CallServer", "CallStore", "CallVocabulary", "ClientTokens", "LibWebSockets", "OutgoingHTTP",
                "PushCore", "PushVocabulary", "SignalProtocol", "StoreInterface", "WireJSON", grdb,
            ],
            path: "Tests/Fuzzing/Parsers", swiftSettings: strict),
        // The program for libFuzzer, built by Tests/Fuzzing/run.
        .executableTarget(
            name: "reveille-fuzz", dependencies: ["Parsers"], path: "Tests/Fuzzing/reveille-fuzz",
            swiftSettings: strict),
        // Certificates made by openssl.
        .target(
            name: "TestCertificates", dependencies: ["TLS", "ChildProcess", "LibWebSockets", "TestCleanup"],
            path: "Tests/TestCertificates",
            swiftSettings: strict),

        // Reads this file and the sources.
        tests("SourceRulesTests", []),
        tests("ChildProcessTests", ["ChildProcess", "TestCleanup"]),
        tests("CallVocabularyTests", ["CallVocabulary"]),
        tests("WireJSONTests", ["WireJSON", "ByteMutation", "CallVocabulary", "Determinism", "Parsers"]),
        tests("FuzzingTests", ["Parsers"]),
        tests(
            "SignalProtocolTests",
            [
                "PushVocabulary", "SignalProtocol", "ByteMutation", "CallVocabulary", "CallCore", "Determinism",
                "PushCore", "WireJSON",
            ]),
        tests("CallMonitorTests", ["CallMonitor", "AdminProtocol", "CallCore", "CallVocabulary", "Determinism"]),
        tests("CallEventsTests", ["CallEvents", "AdminProtocol", "CallCore", "CallMonitor", "CallVocabulary"]),
        tests("DeterminismTests", ["Determinism", "CallVocabulary"]),
        tests(
            "CallCoreTests",
            ["PushVocabulary", "CallCore", "ByteMutation", "CallVocabulary", "Determinism", "RecordModel"]),
        tests(
            "PushCoreTests", ["PushVocabulary", "PushCore", "ByteMutation", "CallVocabulary", "Determinism", crypto],
            exclude: ["Recorded"]),
        tests("SimulationTests", ["Simulation", "CallVocabulary"]),
        tests(
            "OutgoingHTTPTests",
            [
                "OutgoingHTTP", "ByteMutation", "ChildProcess", "Determinism", "EventJournal", "EventLoop", "TLS",
                "TestCertificates", "TestCleanup",
            ],
            exclude: ["Scripts"]),
        tests("HTTP2Tests", ["TLS", "HTTP2", "ChildProcess", "EventJournal", "EventLoop", "TestCleanup"]),
        tests(
            "CallStoreTests",
            [
                "CallStore", "CallCore", "CallVocabulary", "ChildProcess", "Determinism", "EventLoop", "PostgresStore",
                "RecordTables", "StoreInterface", "StoreTesting", "TestCleanup",
                grdb, sqlite,
            ],
            exclude: ["Fixtures"]),
        tests(
            "PostgresStoreTests",
            [
                "PostgresStore", "CallCore", "CallVocabulary", "ChildProcess", "RecordTables", "StoreInterface",
                "StoreTesting",
            ], exclude: ["Recorded"]),
        tests("AdminProtocolTests", ["AdminProtocol", "ByteMutation", "CallVocabulary"]),
        tests(
            "ClientTokensTests", ["ClientTokens", "ByteMutation", "CallVocabulary", "Determinism"],
            exclude: ["Vectors"]),
        tests("AdminKitTests", ["AdminKit", "AdminProtocol", "CallVocabulary"]),
        tests(
            "CallServerTests",
            [
                "TLS", "AdminServer", "ByteMutation", "ClientTokens", "PushVocabulary", "CallServer", "AdminKit",
                "AdminProtocol", "CallCore", "CallEvents",
                "CallMonitor", "CallStore", "OutgoingHTTP", "StoreInterface", "CallVocabulary", "ChildProcess",
                "Determinism", "PushClient", "PushCore", "PushTestServer", "SoftphoneKit", "SoftphoneSession",
                "EventLoop",
                "EventJournal", "HTTP2", "PostgresStore", "RecordTables", "SignalProtocol",
                "LibWebSockets", "LogCapture", "ServerLog", "TestCertificates", "TestCleanup", "WebPages",
                "WebSocketServer", "WebhookClient", "WireJSON", log,
            ]),
        tests(
            "ServerSettingsTests",
            [
                "TLS", "ServerSettings", "CallCore", "CallServer", "CallStore", "ClientTokens", "StoreInterface",
                "CallVocabulary",
                "EventLoop",
                "LibWebSockets", "LogCapture", "OutgoingHTTP", "PushClient", "PushCore", "WebhookClient",
                configuration, jwt, log,
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
            ]),
        tests(
            "PushClientTests",
            [
                "TLS", "PushVocabulary", "PushClient", "PushTestServer", "CallVocabulary", "ChildProcess",
                "EventJournal", "PushCore",
                "EventLoop", "HTTP2", "TestCleanup", jwt, log,
            ]),
        tests(
            "PushSimulatorTests",
            [
                "TLS", "ClientTokens", "PushVocabulary", "PushCore", "PushSimulator", "CallVocabulary", "ChildProcess",
                "Determinism", "EventLoop", "HTTP2", crypto, jwt, log,
            ]),
        tests("SoftphoneSessionTests", ["SoftphoneSession", "CallVocabulary", "Determinism"]),
        tests(
            "SoftphoneKitTests",
            ["SoftphoneKit", "SoftphoneSession", "CallVocabulary", "ChildProcess", "EventLoop", "EventJournal"]),
        tests(
            "WebhookClientTests",
            [
                "WebhookClient", "CallCore", "CallVocabulary", "Determinism", "StoreInterface",
            ]),
        tests("ServerLogTests", ["ServerLog", "EventLoop", "TestCleanup", log, memoryLog]),
        tests("EventLoopTests", ["EventLoop", "EventJournal", "TestCleanup"]),
        tests("TerminalScreenTests", ["TerminalScreen"]),
        tests(
            "WatchTests", ["AdminProtocol", "ByteMutation", "CallVocabulary", "TerminalScreen", "reveille"],
            exclude: ["Screens"]),
        tests("LibWebSocketsTests", ["LibWebSockets", "ByteMutation", "Determinism"]),
        tests("WebPagesTests", ["ChildProcess", "LibWebSockets", "TestCleanup", "WebPages"]),
        tests(
            "WebSocketServerTests",
            [
                "TLS", "WebSocketServer", "ChildProcess", "LibWebSockets", "EventLoop", "EventJournal",
                "TestCertificates", "TestCleanup",
            ]),
        tests(
            "BenchmarksTests",
            [
                "Benchmarks", "CallStore", "CallVocabulary", "ChildProcess", "PushCore", "RecordTables",
                "SignalProtocol", "reveille-bench",
            ]),
        tests(
            "LoadTestTests",
            [
                "LoadTest", "AdminProtocol", "CallStore", "StoreInterface", "CallVocabulary", "ChildProcess",
                "Determinism", "EventLoop",
                "PushSimulator", "SoftphoneKit", "SoftphoneSession", "TestCleanup", "reveille",
            ]),
        .testTarget(
            name: "ReveilleTests",
            dependencies: [
                "reveille", "AdminProtocol", "CallCore", "CallMonitor", "CallStore", "CallVocabulary",
                "ChildProcess", "EventJournal", "EventLoop", "LibWebSockets", "LoadTest", "ServerSettings",
                "StoreInterface", "StoreTesting", "TestCleanup", "WebSocketServer", crypto, grdb, log,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            exclude: ["Recorded"], swiftSettings: strict),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "TLS", "PushVocabulary", "CallVocabulary", "CallCore", "CallServer", "CallStore", "ClientTokens",
                "StoreInterface",
                "ChildProcess", "Demo",
                "EventLoop", "HTTP2",
                "PhoneSimulator", "AdminProtocol", "LibWebSockets", "PushClient", "PushCore", "PushSimulator",
                "PushTestServer",
                "LoadTest", "OutgoingHTTP", "PostgresStore", "RecordTables", "StoreTesting",
                "SignalProtocol", "SimulatorEndpoints", "SoftphoneKit", "SoftphoneSession", "TestCertificates",
                "TestCleanup", "WebSocketServer", "WebhookClient", "reveille",
                crypto, log,
            ],
            resources: [.copy("Scripts"), .copy("Prometheus")], swiftSettings: strict),
    ]
)
