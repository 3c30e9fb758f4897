// swift-tools-version: 6.2
import PackageDescription

// The client for Apple's platforms. It depends on no other package and on nothing of the server's: the first five
// targets, and one file of ReveilleClient, are symbolic links to the repository's own sources. See README.md.

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "reveille-apple",
    platforms: [.iOS(.v16), .macOS(.v13)],
    products: [
        .library(name: "ReveilleClient", targets: ["ReveilleClient", "SoftphoneSession", "CallVocabulary"]),
        .library(name: "ReveilleCallKit", targets: ["ReveilleCallKit"]),
    ],
    targets: [
        // Shared with the server: no I/O, no clock, no Foundation.
        library("CallVocabulary"),
        library("WireJSON", ["CallVocabulary"]),
        library("SignalProtocol", ["CallVocabulary", "WireJSON"]),
        library("Determinism", ["CallVocabulary"]),
        library("SoftphoneSession", ["CallVocabulary", "Determinism", "SignalProtocol"]),

        // URLSession: also builds on Linux.
        library("ReveilleClient", ["CallVocabulary", "SignalProtocol", "SoftphoneSession", "WireJSON"]),
        // PushKit and CallKit: empty where they are missing.
        library("ReveilleCallKit", ["CallVocabulary", "ReveilleClient", "SoftphoneSession"]),

        .executableTarget(
            name: "example-phone", dependencies: ["CallVocabulary", "ReveilleClient", "SoftphoneSession"],
            path: "Examples/Phone", swiftSettings: strict),
        .testTarget(
            name: "ReveilleClientTests", dependencies: ["CallVocabulary", "ReveilleClient", "SoftphoneSession"],
            swiftSettings: strict),
    ]
)
