/// The methods that administrators call, by their names on the wire.
public enum AdminMethod: String, Sendable, CaseIterable {
    case groupList = "group.list"
    case groupGet = "group.get"
    case groupSet = "group.set"
    case groupDelete = "group.delete"
    case userGet = "user.get"
    case userSet = "user.set"
    case aliasList = "alias.list"
    case aliasSet = "alias.set"
    case aliasDelete = "alias.delete"
    case deviceResume = "device.resume"
}
