import AdminProtocol
import ArgumentParser
import CallVocabulary

// The closed lists of the vocabulary as choices of an option: completed by the shell, and named when one is mistyped.

extension EndReason: ExpressibleByArgument {}
extension CallState: ExpressibleByArgument {}
extension ServerProblem.Code: ExpressibleByArgument {}
extension ProviderStatus: ExpressibleByArgument {}
extension ReportStatus: ExpressibleByArgument {}
extension PushPurpose: ExpressibleByArgument {}
extension DeclinePolicy: ExpressibleByArgument {}
extension MissedCallPush: ExpressibleByArgument {}
extension CallGroup.Strategy: ExpressibleByArgument {}

extension Handle {
    /// - Throws: `ValidationError`, a usage error.
    init(argument: String) throws {
        guard let handle = Handle(argument) else {
            throw ValidationError(
                "'\(argument.shown)' is no handle: 1 to \(Handle.longest) bytes without spaces and control characters.")
        }
        self = handle
    }
}
