import CallVocabulary

/// The service of one of the simulator's ports.
enum SimulatorPort: Equatable, Sendable {
    case apns(PushEnvironment)
    case fcm
    case webpush

    /// For logs.
    var name: String {
        switch self {
        case .apns(let environment): "apns \(environment.rawValue)"
        case .fcm: "fcm"
        case .webpush: "webpush"
        }
    }
}
