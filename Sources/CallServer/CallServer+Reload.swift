import AdminServer
import CallCore
import CallVocabulary
import ClientTokens
import EventLoop
import LibWebSockets
import Logging
import PushClient
import WebSocketServer
import WebhookClient

extension CallServer {
    /// Applies new certificates, credentials, limits, timers and policies. Everything is read and checked first: after
    /// an error nothing has changed, except that a missing secret may have been made. Fetches the identity provider's
    /// keys, and ends the sessions of all keys that are gone. Call it for one reload at a time.
    ///
    /// - Throws: ``ServerConfigurationError``, `TLSCertificate.Failure`, `PushConfigurationError`, `StoreFailure` or
    ///   `DataFolder.Failure`, also for a secret that is not the realm's. They describe the error and its place.
    public func reload(_ reload: ServerReload) async throws {
        // A secret that only this server's folder has would be missing at the next home.
        if reload.push != nil || reload.tokens != nil, let homeLease = parts.store.homeLease {
            try homeLease.provideSecrets(to: parts.data, hasWebPush: reload.push?.webPush != nil)
        }
        let checked = try reload.checked(in: parts.data)
        try checkListeners(reload)
        let missing = reload.tokens.map { TokenAuthority.missingSecrets(of: parts.data, $0) } ?? []
        let tokens = try reload.tokens.map { try parts.tokens.verifier(for: $0) }
        // Of the other one there is none before the next start.
        for secret in missing where PrivateFile.isThere(secret.path) { secret.tell(parts.log) }
        // First, because it writes a file, and may fail.
        if let endpoints = reload.webhooks { try await parts.webhooks.reload(endpoints) }
        if let certificate = checked.certificate {
            await webSockets.replaceCertificate(with: certificate)
            // The metrics listener has TLS, with the same certificate, if the clients' listener has.
            if let metrics, metrics.certificate != nil { await metrics.replaceCertificate(with: certificate) }
        }
        await admin.reload(
            token: checked.adminToken, readToken: checked.adminReadToken, certificate: checked.adminCertificate)
        // What tokens of keys that are gone have opened ends, also when the new keys cannot be fetched.
        defer {
            let keys = parts.tokens.fingerprints
            for shard in shards { shard.postAlways(.keysChanged(keys)) }
        }
        if let tokens { takeKeys(tokens) }
        if let settings = reload.tokens {
            try await parts.tokens.follow(
                settings.keysAddress, on: parts.core.loop, sharedBy: parts.store.homeLease?.state(RemoteKeySet.file),
                log: parts.log)
        }
        if let backendTokens = reload.backendTokens { parts.backends.tokens.replace(with: backendTokens) }
        if let authorization = reload.authorization { parts.authorization.replace(with: authorization) }
        if let turn = reload.turn { parts.turn.replace(with: turn) }
        if let push = checked.push {
            await parts.push.reload(push)
            noteApplicationServerKey()
        }
        if let limits = reload.connectionLimits { for shard in shards { shard.postAlways(.limited(limits)) } }
        if let rates = reload.rates { parts.rates.apply(rates) }
        if let count = reload.maxConnections {
            setMaxConnections(count, perAddress: reload.maxConnectionsPerAddress, proxies: reload.proxies)
        }
        if let bytes = reload.maxUnreadBytes {
            webSockets.setMaxUnreadBytes(
                ServerConfiguration.unreadBytes(of: bytes, shards: webSockets.shardLoops.count))
        }
        let settings = CoreSettings(
            timers: reload.timers, limits: reload.limits, policy: reload.policy,
            recordsEvents: reload.webhooks.map { !$0.isEmpty },
            authorization: reload.authorization.map { $0?.policy })
        if settings != CoreSettings() { parts.core.inbox.postAlways(.reconfigured(settings)) }
        if let timers = reload.timers { parts.unseen.setAge(timers.deviceAge) }
        await parts.tokens.refetchKeys()
        parts.log.info("reloaded")
    }

    private func takeKeys(_ verifier: TokenVerifier) {
        guard parts.tokens.replace(with: verifier) else { return }
        parts.log.notice(
            "the keys of user tokens changed; tokens are verified anew",
            metadata: [
                "keys": .stringConvertible(verifier.provider?.keys.count ?? 0),
                "secrets": .stringConvertible(verifier.secrets.count),
            ])
    }

    private func setMaxConnections(_ count: Int, perAddress: Int?, proxies: TrustedProxies) {
        webSockets.setMaxConnections(
            ServerConfiguration.served(of: count), perAddress: perAddress, proxies: proxies)
        let descriptors = DescriptorLimit.current
        guard DescriptorLimit.needed(forConnections: count) > descriptors else { return }
        parts.log.warning(
            "limits.connections needs more file descriptors than this process may open; restart the server to raise its limit",
            metadata: ["connections": .stringConvertible(count), "descriptors": .stringConvertible(descriptors)])
    }

    /// Refuses changes that a running listener cannot make.
    private func checkListeners(_ reload: ServerReload) throws(ServerConfigurationError) {
        if reload.tls != nil, webSockets.certificate == nil {
            throw ServerConfigurationError(
                field: "tls", problem: "the server listens without TLS; restart it to have it listen with TLS")
        }
        if reload.adminTLS != nil, admin.certificate == nil {
            throw ServerConfigurationError(
                field: "admin.tls", problem: "the admin API is listening without TLS; restart the server to change that"
            )
        }
        if reload.adminToken != nil, admin.address == nil {
            throw ServerConfigurationError(
                field: "admin.token", problem: "the admin API does not listen on TCP; restart the server to change that"
            )
        }
    }
}
