import CallVocabulary

/// Writes frames of the admin API: an ``AdminAnswer`` on a server, an ``AdminCall`` on a client.
///
/// Frames are appended to a buffer. Stateless; may be used from any thread.
///
/// A list is no longer than a frame once it went through `AdminReply.page(after:)`. A user with thousands of aliases or
/// groups may be: look at the length before sending.
public enum AdminEncoder {
    /// Appends what the server says.
    public static func encode(_ answer: AdminAnswer, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { json in
            switch answer {
            case .reply(let id, let reply, let next):
                json.response(id) { json in
                    json.field("result") { json in
                        json.object { json in
                            json.members(reply)
                            json.field("next", next)
                        }
                    }
                }
            case .refusal(let id, let refusal):
                json.response(id) { json in
                    json.field("error") { $0.value(refusal) }
                }
            case .error(let id, let error):
                json.response(id) { json in
                    json.field("error") { $0.value(error) }
                }
            }
        }
    }

    /// Appends what a client asks.
    public static func encode(_ call: AdminCall, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { json in
            switch call.request {
            case .command(let command, let after):
                json.message { json in
                    json.id(call.id)
                    json.field("method", command.method.rawValue)
                    json.field("params") { json in
                        json.object { json in
                            json.members(command)
                            json.field("after", after)
                        }
                    }
                }
            }
        }
    }
}

extension AdminCommand {
    public var method: AdminMethod {
        switch self {
        case .listGroups: .groupList
        case .showGroup: .groupGet
        case .setGroup: .groupSet
        case .deleteGroup: .groupDelete
        case .showUser: .userGet
        case .setUser: .userSet
        case .listAliases: .aliasList
        case .setAlias: .aliasSet
        case .deleteAlias: .aliasDelete
        case .resumeDevice: .deviceResume
        }
    }
}
