import EventLoop
import HTTP2
import TLS

/// Runs a test with a loop of its own, and ends it afterwards.
func withLoop<Result>(_ body: (EventLoop) async throws -> Result) async throws -> Result {
    let loop = try EventLoop(name: "test")
    loop.start()
    do {
        let result = try await body(loop)
        await loop.stopAndWait()
        return result
    } catch {
        await loop.stopAndWait()
        throw error
    }
}

extension TestCertificates {
    func serverContext() throws -> TLSServerContext {
        try TLSServerContext(certificateChainPEM: serverPEM, privateKeyPEM: serverKeyPEM)
    }

    func clientContext() throws -> TLSClientContext {
        try TLSClientContext(trust: .certificateAuthorityPEM(authorityPEM))
    }
}
