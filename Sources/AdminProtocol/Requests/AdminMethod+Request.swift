extension AdminMethod {
    /// The request type of the method.
    var request: any AdminRequest.Type {
        switch self {
        case .callList: ListCalls.self
        case .callGet: GetCall.self
        case .callEnd: EndCall.self
        case .callSubscribe: SubscribeToCalls.self
        case .sessionList: ListSessions.self
        case .sessionDrop: DropSession.self
        case .deviceList: ListDevices.self
        case .deviceGet: GetDevice.self
        case .deviceResume: ResumeDevice.self
        case .deviceDelete: DeleteDevice.self
        case .pushList: ListPushes.self
        case .pushGet: GetPush.self
        case .pushAudit: AuditPushes.self
        case .userGet: GetUser.self
        case .userSet: SetUser.self
        case .userBlock: BlockCallers.self
        case .userUnblock: UnblockCallers.self
        case .userForward: ForwardCalls.self
        case .userRevoke: RevokeTokens.self
        case .groupList: ListGroups.self
        case .groupGet: GetGroup.self
        case .groupSet: SetGroup.self
        case .groupDelete: DeleteGroup.self
        case .aliasList: ListAliases.self
        case .aliasSet: SetAlias.self
        case .aliasDelete: DeleteAlias.self
        case .webhookList: ListWebhooks.self
        case .webhookPause: PauseWebhook.self
        case .webhookResume: ResumeWebhook.self
        case .webhookReplay: ReplayWebhook.self
        case .webhookTest: TestWebhook.self
        case .statsGet: GetStats.self
        case .statsSubscribe: SubscribeToStats.self
        case .serverInfo: GetServerInfo.self
        case .serverDrain: Drain.self
        case .serverStop: StopServer.self
        case .logSet: SetLogLevel.self
        case .unsubscribe: Unsubscribe.self
        }
    }
}
