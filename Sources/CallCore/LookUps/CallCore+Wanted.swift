import CallVocabulary

/// What inputs need of the store: the names, tokens and calls that they use and that are not in memory. A name may
/// lead to others, which show once it is known: the user behind an alias, the members of a group.
extension CallCore {
    /// The names themselves, without the users behind aliases.
    func wanted(_ names: Handle...) -> Wanted {
        Wanted(names: names.filter { directory.user($0) == nil })
    }

    /// The push tokens that the device does not have, and that no device in memory has.
    func wantedHolders(of tokens: [PushToken], on device: Device?) -> [PushToken.Address] {
        tokens.prefix(limits.tokensPerDevice).map(\.address).filter { token in
            !directory.isHeld(token) && !soughtTokens.contains(token)
                && device?.tokens.contains { $0.token.address == token } != true
        }
    }

    /// The callees behind a target, and those whom the one callee forwards to after a time of its own.
    func wanted(for target: CallTarget) -> Wanted {
        var wanted = Wanted()
        add(target, to: &wanted)
        if case .user(let handle) = target, let callee = directory.user(directory.resolve(handle)),
            callee.rules.noAnswerAfter != nil, let next = callee.rules.forwardNoAnswer
        {
            add(next, to: &wanted)
        }
        return wanted
    }

    private func add(_ target: CallTarget, to wanted: inout Wanted) {
        switch target {
        case .user(let handle): add(handle, to: &wanted)
        case .users(let handles): for handle in handles { add(handle, to: &wanted) }
        case .group(let name):
            // No group has a name that is no handle.
            guard let handle = Handle(known: name) else { return }
            guard let entry = directory.user(handle) else { return wanted.groups.append(handle) }
            for member in entry.group?.members ?? [] { add(member, to: &wanted) }
        }
    }

    /// Adds the name, or the user behind it.
    private func add(_ handle: Handle, to wanted: inout Wanted) {
        guard let entry = directory.user(handle) else { return wanted.names.append(handle) }
        if let owner = entry.aliasOf, directory.user(owner) == nil { wanted.names.append(owner) }
    }

    /// The names that a command changes or that it shows.
    func wanted(for command: AdminCommand) -> Wanted {
        var wanted = Wanted()
        func add(_ handles: [Handle]) { wanted.names += handles.filter { directory.user($0) == nil } }
        func addResolved(_ handles: [Handle]) { for handle in handles { self.add(handle, to: &wanted) } }
        switch command {
        case .showGroup(let name): addGroup(name, to: &wanted)
        case .setGroup(let group):
            addGroup(group.name, to: &wanted)
            add(group.members)
        case .deleteGroup(let name): addGroup(name, to: &wanted)
        case .showUser(let handle):
            addResolved([handle])
            add(directory.user(handle)?.aliases.sorted() ?? [])
        case .setUser(let handle, _), .revokeTokens(let handle, _): addResolved([handle])
        case .block(let handle, let callers), .unblock(let handle, let callers): addResolved([handle] + callers)
        case .forward(let handle, let busy, let noAnswer, _):
            addResolved([handle])
            for case .user(let target)? in [busy, noAnswer] { addResolved([target]) }
            for case .group(let name)? in [busy, noAnswer] { addGroup(name, to: &wanted) }
        case .setAlias(let alias): addResolved([alias.handle, alias.user])
        case .deleteAlias(let handle): addResolved([handle])
        case .resumeDevice(let user, _), .deleteDevice(let user, _), .dropSession(let user, _): add([user])
        case .endCall: break
        }
        return wanted
    }

    /// The group with its members, whose memberships change with it.
    private func addGroup(_ name: String, to wanted: inout Wanted) {
        guard let handle = Handle(known: name) else { return }
        guard let entry = directory.user(handle) else { return wanted.groups.append(handle) }
        wanted.names += (entry.group?.members ?? []).filter { directory.user($0) == nil }
    }
}
