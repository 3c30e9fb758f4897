import CallCore
import CallVocabulary

/// A page of a user's calls.
public struct CallHistory: Equatable, Sendable {
    public struct Entry: Equatable, Sendable {
        public var call: CallRecord
        /// The legs of the user's devices, in the order in which they were rung.
        public var legs: [LegRecord]

        public init(call: CallRecord, legs: [LegRecord]) {
            self.call = call
            self.legs = legs
        }
    }

    public var entries: [Entry]
    /// Where the next page begins; nil on the last page.
    public var next: HistoryCursor?

    public init(entries: [Entry], next: HistoryCursor?) {
        self.entries = entries
        self.next = next
    }
}
