import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Users who call their own other devices: rule 17.
@Suite struct SelfCallTests {
    let world = World()
    let phone: Phone
    let tablet: Phone

    init() { (phone, tablet) = (world.online("alice"), world.online("alice")) }

    @Test("the user's own policies are for calls of others")
    func ownPolicies() {
        world.administer(.setUser(phone.user, UserPolicyChange(callWaiting: false, doNotDisturb: true)))
        let call = phone.call(tablet)
        #expect(tablet.offers(of: call).count == 1)
        #expect(phone.offers(of: call).isEmpty)
        #expect(tablet.answer(call).reply == .won)
        phone.hangUp(call)
        #expect(tablet.endings(of: call).map(\.reason) == [.hangup])
    }

    @Test("two calls from the same device are no glare")
    func twice() {
        let calls = [phone.call(tablet), phone.call(tablet)]
        for call in calls {
            #expect(tablet.offers(of: call).count == 1)
            #expect(world.store.calls[call]?.state == .routing)
        }
        #expect(world.core.liveCalls == 2)
    }
}
