import AdminProtocol
import ArgumentParser
import CallVocabulary
import Foundation

extension CallsCommand {
    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a live call for all its devices, with the reason admin.",
            discussion: """
                Needs a running server. On a terminal it shows the call and asks for confirmation, except with --yes. Exit \
                code 1: there is no such live call, or the answer was no.

                  reveille calls end 0b9c8e4e
                  reveille calls end 0b9c8e4e --yes
                """)

        @Argument(
            help: "The call's id, or the first or last digits of it.", completion: KnownIDs.calls,
            transform: IDPart<CallSubject>.init(argument:)) var id: IDPart<CallSubject>
        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.") var yes = false
        @OptionGroup var server: ServerOptions

        func run() async throws {
            try await Administration.with(server) { server in
                let (call, line) = try await find(on: server)
                if !yes, Confirmation.canAsk {
                    guard Confirmation.ask("End this call for everybody?", about: line) else {
                        throw Terminal.failed("the call goes on")
                    }
                }
                _ = try await server.perform(EndCall(call), missing: missing)
                Terminal.print("call \(call) ended")
            }
        }

        private var missing: String { "no live call \(id.text); see reveille calls list --live" }

        /// Looks a call up by a part of its id, or for the confirmation.
        private func find(on server: Administration) async throws -> (CallID, String) {
            if let exact = id.exact, yes || !Confirmation.canAsk { return (exact, "") }
            let live = try await server.all(ListCalls(live: true))
            let call = try id.only(of: live, id: \.callID, line: CallText.line, missing: missing)
            return (call.callID, CallText.line(call))
        }
    }
}
