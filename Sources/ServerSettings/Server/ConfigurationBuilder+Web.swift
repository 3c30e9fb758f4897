import EventLoop
import WebPages

extension ConfigurationBuilder {
    /// The pages with those of `web.root`; nil without that setting.
    mutating func pages() -> WebPages? {
        guard let folder = settings.text(.webRoot) else { return nil }
        do {
            return try WebPages(folder: folder)
        } catch {
            fault(.webRoot, error.reason, error.advice)
            return nil
        }
    }

    mutating func signsInByName(at address: SocketAddress) -> Bool {
        guard settings.flag(.webSignInByName) else { return false }
        if !address.isLoopback || settings.flag(.listenInsecure) || settings.isSet(.listenProxies) {
            fault(
                .webSignInByName, "this server can be reached from other machines",
                "take this away and sign in with tokens, or listen on 127.0.0.1 without a proxy")
        }
        return true
    }
}
