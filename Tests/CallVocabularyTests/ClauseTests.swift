import CallVocabulary
import Testing

@Suite struct ClauseTests {
    @Test(
        "a sentence goes on without its full stop, everything else as it is",
        arguments: [
            ("It is over.", "It is over"), ("it is over", "it is over"), ("waiting…", "waiting…"),
            ("and so on..", "and so on.."),
            (".", ""), ("", ""), ("HTTP/1.1", "HTTP/1.1"),
        ])
    func clause(text: String, clause: String) {
        #expect(text.clause == clause)
    }
}
