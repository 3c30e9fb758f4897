import ArgumentParser

struct PushSimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-sim",
        abstract: "Run a simulator of APNs, FCM, Web Push and phones, and inject faults.",
        discussion: """
            Serves HTTP/2 over TLS on four ports: APNs production, APNs sandbox, FCM and Web Push. Its data folder holds its \
            own certificate authority, signing key, certificate and service account. It checks requests as Apple, \
            Google and Mozilla do. Phones and browsers attach to it with `reveille phone --asleep`.

              reveille push-sim
              reveille serve --push-sim
              reveille push-sim fault refuse --reason Unregistered --count 1
              reveille push-sim phones
            """,
        subcommands: [
            PushSimRun.self, PushSimFault.self, PushSimFaults.self, PushSimClear.self, PushSimGoAway.self,
            PushSimPhones.self, PushSimState.self,
        ], defaultSubcommand: PushSimRun.self)
}
