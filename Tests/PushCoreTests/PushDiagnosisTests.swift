import CallVocabulary
import PushCore
import PushVocabulary
import Testing

@Suite("What became of a push, in words")
struct PushDiagnosisTests {
    @Test("each reason of APNs has words of its own, and something to do", arguments: APNSReason.allCases)
    func reasons(reason: APNSReason) {
        let diagnosis = PushDiagnosis(.rejected(reason: reason.rawValue, isTokenDead: false), delivery: .apnsVoIP)
        #expect(diagnosis == reason.diagnosis)
        #expect(diagnosis.meaning.hasSuffix("."))
        #expect(!diagnosis.advice.isEmpty)
        #expect(diagnosis.advice.allSatisfy { $0.hasSuffix(".") || $0.hasSuffix("?") || $0.hasSuffix("`.") })
    }

    @Test("each code of FCM has words of its own, and something to do", arguments: FCMErrorCode.allCases)
    func codes(code: FCMErrorCode) {
        let diagnosis = PushDiagnosis(.rejected(reason: code.rawValue, isTokenDead: false), delivery: .fcmData)
        #expect(diagnosis == code.diagnosis)
        #expect(diagnosis.meaning.hasSuffix("."))
        #expect(!diagnosis.advice.isEmpty)
    }

    @Test("reasons that ask for different things are not told apart by their name only")
    func distinct() {
        let same: Set<APNSReason> = [
            .internalServerError, .serviceUnavailable, .shutdown, .idleTimeout, .badPath, .methodNotAllowed,
            .badCollapseID, .badExpirationDate, .badMessageID, .badPriority, .duplicateHeaders, .payloadEmpty,
        ]
        let meanings = APNSReason.allCases.filter { !same.contains($0) }.map(\.diagnosis.meaning)
        #expect(Set(meanings).count == meanings.count)
    }

    @Test("a reason nobody knows is passed on as it is")
    func unlisted() {
        let diagnosis = PushDiagnosis(.rejected(reason: "HTTP 502", isTokenDead: false), delivery: .apnsAlert)
        #expect(diagnosis.meaning.contains("HTTP 502"))
    }

    @Test("an accepted push is never called delivered", arguments: PushDelivery.allCases)
    func accepted(delivery: PushDelivery) {
        let diagnosis = PushDiagnosis(.accepted, delivery: delivery)
        #expect(diagnosis.meaning.contains("no proof that it arrives"))
        #expect(!diagnosis.advice.isEmpty)
    }

    @Test("what is unknown is said not to be repeated, and what was not sent to have stayed here")
    func others() {
        #expect(
            PushDiagnosis(.unknown(reason: "no answer in time"), delivery: .apnsVoIP).meaning
                == "The push was sent and no answer came (no answer in time). It may arrive or not, so it is not sent again."
        )
        #expect(
            PushDiagnosis(.unsent(reason: "expired"), delivery: nil).meaning
                == "The push never left this machine: expired.")
    }

    @Test("a reason that is a sentence of its own gets no second full stop")
    func sentences() {
        let reason = "HTTP 400: The topic is missing."
        let outcomes: [PushOutcome] = [
            .rejected(reason: reason, isTokenDead: false), .unsent(reason: reason), .unknown(reason: reason),
        ]
        for outcome in outcomes {
            for delivery in [PushDelivery.apnsVoIP, .webPush] {
                let meaning = PushDiagnosis(outcome, delivery: delivery).meaning
                #expect(meaning.contains("The topic is missing"), "\(meaning)")
                #expect(!meaning.contains("..") && !meaning.contains(".)"), "\(meaning)")
            }
        }
    }
}
