import CallServer
import ClientTokens
import EventLoop
import Foundation
import OutgoingHTTP

/// Whose user tokens open sessions.
extension ConfigurationBuilder {
    mutating func tokens() -> TokenConfiguration {
        var tokens = TokenConfiguration()
        tokens.leeway = settings.seconds(.tokenLeewaySeconds, tokens.leeway)
        tokens.secretFile = secretFile()
        tokens.keysAddress = keysAddress()
        tokens.provider = identityProvider()
        return tokens
    }

    /// nil for the one in the data folder, which the server makes on its first start.
    private mutating func secretFile() -> String? {
        guard let path = settings.text(.tokenSecretFile) else { return nil }
        let isNamed = settings.isSet(.tokenSecretFile)
        // Readable by others is a fault of the data folder, which the server names.
        guard isNamed || PrivateFile.isThere(path),
            let text = file(path, .tokenSecretFile, isPrivate: isNamed)
        else { return nil }
        if DataFolder.secrets(in: text) == nil {
            fault(
                .content, .tokenSecretFile,
                "\(path) does not hold secrets of 64 hexadecimal digits or more, one a line",
                "make one with: openssl rand -hex 32 > \(path)")
        }
        return isNamed ? path : nil
    }

    /// None without a file that nobody names.
    mutating func backendTokens() -> [BackendToken] {
        guard let path = settings.text(.backendTokensFile) else { return [] }
        let isNamed = settings.isSet(.backendTokensFile)
        guard isNamed || PrivateFile.isThere(path),
            let text = file(path, .backendTokensFile, isPrivate: true)
        else { return [] }
        do {
            let tokens = try BackendToken.read(text)
            if text.utf8.isEmpty {
                fault(
                    .warning, .backendTokensFile, "\(path) is empty: all requests of backends are refused",
                    "put it back from a backup, or remove it if there is no backend")
            }
            if !isNamed, !tokens.isEmpty, settings.text(.store) != nil {
                fault(
                    .warning, .backendTokensFile,
                    "\(path) counts on this server alone: after a hand-over its tokens are refused",
                    "make them with reveille token backend, which gives them to the realm, or name a file that each server has"
                )
            }
            return tokens
        } catch {
            fault(
                .content, .backendTokensFile, "\(path), \(error)",
                "a line is \(BackendToken.form), as reveille token backend writes it")
            return []
        }
    }

    private mutating func identityProvider() -> IdentityProvider? {
        let about: [Setting] = [.tokenIssuer, .tokenAudience, .tokenUserClaim]
        guard let given = [Setting.tokenKeys, .tokenKeysURL].first(where: settings.isSet) else {
            if let first = about.first(where: settings.isSet) {
                fault(first, "is of no use without tokens.keys or tokens.jwks_url", "give the provider's keys")
            }
            return nil
        }
        let keys = tokenKeys()
        let audiences = (settings.text(.tokenAudience) ?? "").split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }.filter { !$0.isEmpty }
        guard let issuer = settings.text(.tokenIssuer), !audiences.isEmpty else {
            if settings.text(.tokenAudience) != nil, audiences.isEmpty {
                fault(.tokenAudience, "names nobody", "give what the provider calls this server in aud")
            }
            for missing in [Setting.tokenIssuer, .tokenAudience] where !settings.isSet(missing) {
                fault(
                    given, "needs \(missing.key)",
                    "a provider signs tokens for others as well, which must not open sessions here")
            }
            return nil
        }
        return IdentityProvider(
            issuer: issuer, audiences: audiences, userClaim: settings.text(.tokenUserClaim) ?? "sub", keys: keys)
    }

    private mutating func keysAddress() -> WebAddress? {
        guard let text = settings.text(.tokenKeysURL) else { return nil }
        let address = WebAddress(text)
        if address == nil {
            fault(
                .tokenKeysURL, "the value is no address that keys can be fetched from",
                "give one such as https://id.example.com/jwks.json; http:// only with a numeric address of this "
                    + "machine or localhost"
            )
        }
        return address
    }

    private mutating func tokenKeys() -> [TokenKey] {
        settings.list(.tokenKeys).flatMap { path -> [TokenKey] in
            guard let text = file(path, .tokenKeys, isPrivate: false) else { return [] }
            do {
                let set = try TokenKeySet(Array(text.utf8), source: path)
                for key in set.leftOut { fault(.warning, .tokenKeys, "\(path): \(key)") }
                if set.keys.isEmpty {
                    fault(
                        .content, .tokenKeys, "\(path) has no key for RS256, PS256, ES256, ES384 or EdDSA",
                        "give the provider's public keys")
                }
                return set.keys
            } catch {
                fault(.content, .tokenKeys, "\(path) \(error)", "give a JWK Set, or public keys in PEM")
                return []
            }
        }
    }
}
