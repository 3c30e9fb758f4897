import ArgumentParser

struct PushSimCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push-sim",
        abstract: "Run a stand-in for APNs, FCM and the phones behind them, and let things go wrong in it.",
        discussion: """
            HTTP/2 over TLS on three ports, APNs' production and sandbox and FCM, with a certificate authority, a \
            signing key, a certificate and a service account of its own in its data folder. It checks requests as \
            Apple and Google do, and phones attach to it with `reveille phone --asleep`.

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
