import CallVocabulary

/// An administrator's commands: groups, aliases, users' policies, devices' health, sessions, calls. Changes are on disk
/// before the reply is sent.
extension CallCore {
    func administer(_ request: AdminRequestID, _ command: AdminCommand) {
        guard isAtHand(wanted(for: command), for: .administered(request, command), in: .administration) else { return }
        effects.append(.answer(request, perform(command)))
    }

    private func perform(_ command: AdminCommand) -> Result<AdminReply, AdminRefusal> {
        switch command {
        case .showGroup(let name):
            if let group = directory.group(name) { .success(.group(group)) } else { noGroup(name) }
        case .setGroup(let group): setGroup(group)
        case .deleteGroup(let name): deleteGroup(name)
        case .showUser(let handle): showUser(handle)
        case .setUser(let handle, let change): setUser(handle, change)
        case .block(let handle, let callers): block(handle, callers)
        case .unblock(let handle, let callers): unblock(handle, callers)
        case .forward(let handle, let busy, let noAnswer, let after):
            forward(handle, busy: busy, noAnswer: noAnswer, after: after)
        case .revokeTokens(let handle, let before): revokeTokens(of: handle, before: before)
        case .setAlias(let alias): setAlias(alias)
        case .deleteAlias(let handle): deleteAlias(handle)
        case .resumeDevice(let user, let device): resumeDevice(user, device)
        case .deleteDevice(let user, let device): deleteDevice(user, device)
        case .endCall(let call): endCall(call)
        case .dropSession(let user, let device): dropSession(user, device)
        }
    }

    private func refuse(_ code: AdminRefusal.Code, _ message: String) -> Result<AdminReply, AdminRefusal> {
        .failure(AdminRefusal(code, message))
    }

    // MARK: Groups

    private func noGroup(_ name: String) -> Result<AdminReply, AdminRefusal> {
        refuse(.notFound, "There is no group \(name).")
    }

    private func setGroup(_ group: CallGroup) -> Result<AdminReply, AdminRefusal> {
        guard let name = Handle(group.name) else {
            return refuse(.invalidParams, "A group's name is a handle: \(Handle.rule).")
        }
        // Users registered before the rule for handles existed may be members.
        if let odd = group.members.first(where: { Handle($0.text) == nil && !directory.known($0).isRegistered }) {
            return refuse(.invalidParams, "No user can have the name of the member \(odd): \(Handle.rule).")
        }
        guard (1...CallGroup.mostMembers).contains(group.members.count) else {
            return refuse(.invalidParams, "A group has 1 to \(CallGroup.mostMembers) members.")
        }
        let members = Set(group.members)
        guard members.count == group.members.count else {
            return refuse(.invalidParams, "Each member is named once.")
        }
        if let odd = group.delays.keys.sorted().first(where: { !members.contains($0) }) {
            return refuse(.invalidParams, "\(odd) has a delay, and is no member.")
        }
        guard group.delays.values.allSatisfy({ (.zero...CallGroup.longestDelay).contains($0) }) else {
            return refuse(.invalidParams, "A delay is 0 to \(CallGroup.longestDelay.components.seconds) s.")
        }
        let entry = directory.known(name)
        guard entry.group != group else { return .success(.done) }
        endMemberships(of: entry)
        entry.group = group
        for member in group.members.map(directory.known) {
            member.memberships.insert(name)
            member.generation = generation
        }
        persist(.group(group), about: entry)
        return .success(.done)
    }

    private func endMemberships(of entry: User) {
        for member in (entry.group?.members ?? []).map(directory.known) {
            member.memberships.remove(entry.handle)
            member.generation = generation
        }
    }

    private func deleteGroup(_ name: String) -> Result<AdminReply, AdminRefusal> {
        guard let entry = Handle(known: name).map(directory.known), entry.group != nil else { return noGroup(name) }
        endMemberships(of: entry)
        entry.group = nil
        persist(.groupDeleted(name), about: entry)
        return .success(.done)
    }

    // MARK: Users

    private func showUser(_ handle: Handle) -> Result<AdminReply, AdminRefusal> {
        let user = directory.known(handle)
        guard user.isRegistered else {
            return refuse(
                .notFound,
                user.aliasOf.map { "\(handle) is an alias of \($0)." } ?? "Nobody has registered as \(handle).")
        }
        let names = user.aliases.sorted()
        let groups = names.map(directory.known).reduce(user.memberships) { $0.union($1.memberships) }
        return .success(
            .user(
                UserSummary(
                    handle: handle, policy: user.policy, rules: user.rules, aliases: names,
                    groups: groups.sorted().map(\.text), devices: user.devices.count,
                    devicesOnline: user.devices.count { $0.session?.connection != nil },
                    liveCalls: user.liveCalls.count, revokedBefore: user.revokedBefore)))
    }

    /// Also sets the policy of a user who has not registered yet.
    private func setUser(_ handle: Handle, _ change: UserPolicyChange) -> Result<AdminReply, AdminRefusal> {
        guard !directory.isAlias(handle) else {
            return refuse(.conflict, "\(handle) is an alias of \(directory.resolve(handle)); set that user.")
        }
        let user = directory.known(handle)
        var policy = user.policy
        policy.callWaiting = change.callWaiting ?? policy.callWaiting
        policy.decline = change.decline ?? policy.decline
        policy.doNotDisturb = change.doNotDisturb ?? policy.doNotDisturb
        policy.missedCalls = change.missedCalls ?? policy.missedCalls
        guard policy != user.policy || !user.hasOwnPolicy else { return .success(.done) }
        user.policy = policy
        user.hasOwnPolicy = true
        persist(.user(UserRecord(handle: handle, policy: user.policy)), about: user)
        return .success(.done)
    }

    // MARK: Devices

    /// Restores the device's health, as if it had opened a session. A device that is not suspended only has its streak
    /// cleared.
    private func resumeDevice(_ user: Handle, _ id: DeviceID) -> Result<AdminReply, AdminRefusal> {
        guard let device = directory.user(user)?.device(id) else {
            return refuse(.notFound, "\(user) has no device \(id).")
        }
        if restoreHealth(of: device) { persist(device) }
        return .success(.done)
    }

    private func deleteDevice(_ user: Handle, _ id: DeviceID) -> Result<AdminReply, AdminRefusal> {
        guard let device = directory.user(user)?.device(id) else {
            return refuse(.notFound, "\(user) has no device \(id).")
        }
        drop(device, .deleted)
        return .success(.done)
    }

    private func dropSession(_ user: Handle, _ id: DeviceID) -> Result<AdminReply, AdminRefusal> {
        guard let session = directory.user(user)?.device(id)?.session else {
            return refuse(.notFound, "\(user) has no session on a device \(id).")
        }
        if let connection = session.connection { effects.append(.disconnect(connection, .dropped)) }
        dropSession(session)
        return .success(.done)
    }

    // MARK: Calls

    private func endCall(_ id: CallID) -> Result<AdminReply, AdminRefusal> {
        guard let call = calls[id] else {
            return refuse(.notFound, "There is no live call \(id); it may be over already.")
        }
        if let reason = call.record.endReason {
            return refuse(.conflict, "The call \(id) is over already (\(reason.rawValue)).")
        }
        endCall(call, .admin, by: nil)
        return .success(.done)
    }

    // MARK: Aliases

    private func setAlias(_ alias: Alias) -> Result<AdminReply, AdminRefusal> {
        guard alias.handle != alias.user else { return refuse(.invalidParams, "An alias is another handle.") }
        guard !directory.isAlias(alias.user) else {
            return refuse(
                .conflict, "\(alias.user) is an alias of \(directory.resolve(alias.user)); name that user instead.")
        }
        let (entry, owner) = (directory.known(alias.handle), directory.known(alias.user))
        guard entry.aliasOf != nil || entry.devices.isEmpty else {
            return refuse(
                .conflict,
                "\(alias.handle) is a user with devices. As an alias the name would ring \(alias.user) in their place.")
        }
        guard entry.aliases.isEmpty else {
            return refuse(.conflict, "\(alias.handle) has aliases itself; turn those to \(alias.user) first.")
        }
        guard entry.aliasOf != alias.user else { return .success(.done) }
        endAlias(entry)
        entry.aliasOf = alias.user
        owner.aliases.insert(alias.handle)
        owner.generation = generation
        persist(.alias(alias), about: entry)
        return .success(.done)
    }

    private func deleteAlias(_ handle: Handle) -> Result<AdminReply, AdminRefusal> {
        let entry = directory.known(handle)
        guard entry.aliasOf != nil else { return refuse(.notFound, "\(handle) is no alias.") }
        endAlias(entry)
        persist(.aliasDeleted(handle), about: entry)
        return .success(.done)
    }

    private func endAlias(_ entry: User) {
        guard let owner = entry.aliasOf.map(directory.known) else { return }
        owner.aliases.remove(entry.handle)
        owner.generation = generation
        entry.aliasOf = nil
    }
}
