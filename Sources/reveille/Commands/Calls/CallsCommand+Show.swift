import ArgumentParser
import CallVocabulary

extension CallsCommand {
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show one call: each push, ring, answer and end, with the device and the time.",
            discussion: """
                Asks the server on the data folder, or the one that --server names. Where none runs it reads the \
                store, and says so. Exit code 1: there is no such call.

                  reveille calls show 0b9c8e4e
                  reveille calls show 0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e --output json
                """)

        @Argument(
            help: "The call's id, or the first or last digits of it.", completion: KnownIDs.calls,
            transform: IDPart<CallSubject>.init(argument:)) var id: IDPart<CallSubject>
        @OptionGroup var output: OutputOptions
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await StoredRecords.with(server) { records in
                let (call, problems) = (try await records.call(id), try await records.problems())
                try output.format.write(nil, call) { CallStoryText.lines($0, problems) }
            }
        }
    }
}
