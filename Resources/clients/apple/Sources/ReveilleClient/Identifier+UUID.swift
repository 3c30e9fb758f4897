import CallVocabulary
import Foundation

extension Identifier {
    /// The same id as CallKit has it.
    public var uuid: UUID {
        // Proof: an id is written in the form 8-4-4-4-12, which `UUID` reads.
        UUID(uuidString: description)!
    }

    public init(_ uuid: UUID) {
        // Proof: `uuidString` has the form 8-4-4-4-12, in upper case.
        self = Self(uuid.uuidString)!
    }
}
