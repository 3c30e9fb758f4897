import CallVocabulary

/// Revoked tokens: of users whose tokens from before a time are refused, whatever has verified them.
extension CallCore {
    /// Logs out all devices of the user, which must open their next sessions with newer tokens.
    func revokeTokens(of handle: Handle, before time: Instant?) -> Result<AdminReply, AdminRefusal> {
        guard !directory.isAlias(handle) else {
            return .failure(
                AdminRefusal(.conflict, "\(handle) is an alias of \(directory.resolve(handle)); name that user."))
        }
        guard time.map({ $0 <= now }) ?? true else {
            return .failure(
                AdminRefusal(.invalidParams, "params.before_ms: the time is to come, and would refuse new tokens"))
        }
        let user = directory.known(handle)
        // It never goes back.
        let latest = max(time ?? now, user.revokedBefore ?? time ?? now)
        if latest != user.revokedBefore {
            user.revokedBefore = latest
            persist(.revocation(RevocationRecord(handle: handle, issuedBefore: latest)), about: user)
        }
        for device in user.devices {
            forgetTokens(of: device)
            leave(device, .badToken)
        }
        return .success(.done)
    }

    /// Why a user's token is refused; nil for a good one.
    func revocation(of grant: SessionGrant) -> SignalError? {
        guard grant.scope == .full, let since = directory.known(grant.user).revokedBefore else { return nil }
        guard let issuedAt = grant.issuedAt else {
            return SignalError(
                .unauthenticated,
                "The tokens of \(grant.user) were revoked, and this one has no iat to say that it is newer. Get one with iat."
            )
        }
        return issuedAt < since ? revoked(grant.user) : nil
    }

    /// Why the wake token of a leg's push is refused; nil for a good one.
    func revocation(ofWakeTokenFor leg: Leg) -> SignalError? {
        let user = leg.device.key.user
        guard let since = leg.device.user.revokedBefore, let push = leg.push, push.record.intendedAt < since else {
            return nil
        }
        return revoked(user)
    }

    /// Replies `done` unless the token is revoked.
    func checkToken(
        _ grant: SessionGrant, _ device: DeviceID?, _ connection: ConnectionID, _ request: RequestID
    ) {
        let work = Deferred.Work.client(.tokenShown(connection, request, grant, device))
        guard isAtHand(wanted(grant.user), for: work, in: .connection(connection)) else { return }
        if let refusal = revocation(of: grant) { return refuse(connection, request, refusal) }
        if case .call(let id) = grant.scope, directory.known(grant.user).revokedBefore != nil {
            if calls[id] == nil, mayBeStored(id) {
                _ = isAtHand(Wanted(call: id), for: work, in: .connection(connection))
                return
            }
            let leg = calls[id]?.legs.first { $0.device.key.user == grant.user && $0.device.key.device == device }
            // Without the call, the time of the push is unknown.
            if let refusal = leg.map({ revocation(ofWakeTokenFor: $0) }) ?? revoked(grant.user) {
                return refuse(connection, request, refusal)
            }
        }
        noteLife(of: device, grant)
        reply(connection, request, .done)
    }

    private func revoked(_ user: Handle) -> SignalError {
        SignalError(
            .unauthenticated, "The tokens of \(user) that were issued as early as this one are revoked. Get a new one.")
    }

    /// Refuses a `session.open` for its token.
    func turnAway(_ connection: ConnectionID, _ request: RequestID, _ refusal: SignalError) {
        refuse(connection, request, refusal)
        effects.append(.disconnect(connection, .badToken))
        turnedAway = connection
    }
}
