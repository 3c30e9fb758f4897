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
        guard settings.isSet(.webSignInByName) else { return sources.path == nil && address.isLoopback }
        let isOn = settings.flag(.webSignInByName)
        if isOn, !address.isLoopback {
            fault(
                .webSignInByName, "\(address) can be reached from other machines",
                "listen on 127.0.0.1, or take this away and sign in with tokens")
        }
        return isOn
    }
}
