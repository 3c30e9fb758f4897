import CallVocabulary
import SoftphoneKit
import SoftphoneSession

/// A session description of one audio stream, as a browser makes them: some 600 bytes.
enum SampleDescription {
    /// What invites and answers of `plan` carry.
    static func of(_ plan: LoadPlan) -> RawJSON? { plan.hasDescriptions ? audio : nil }

    static let audio = RawJSON.text(
        """
        v=0\r
        o=- 4611731400430051336 2 IN IP4 127.0.0.1\r
        s=-\r
        t=0 0\r
        a=group:BUNDLE 0\r
        a=msid-semantic: WMS stream\r
        m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 110 126\r
        c=IN IP4 0.0.0.0\r
        a=rtcp:9 IN IP4 0.0.0.0\r
        a=ice-ufrag:Fh2c\r
        a=ice-pwd:0123456789abcdefghijklmn\r
        a=ice-options:trickle\r
        a=fingerprint:sha-256 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF\r
        a=setup:actpass\r
        a=mid:0\r
        a=sendrecv\r
        a=rtcp-mux\r
        a=rtpmap:111 opus/48000/2\r
        a=fmtp:111 minptime=10;useinbandfec=1\r
        a=rtpmap:110 telephone-event/48000\r
        a=ssrc:1001 cname:load\r

        """)
}
