import CLibWebSockets
import TLS

/// Sets up a vhost's TLS: each handshake uses the context's current certificate.
///
/// `SSL_CTX` cannot hold it: an `SSL_CTX` has one certificate for each key type and cannot remove one.
func prepareTLS(_ settings: OpaquePointer, of context: LWSContext) {
    limitTLS(settings)
    // The context retains it.
    context.clientAuthorities?.require(of: settings)
    // Unretained: handshakes run in the library's callbacks, during which the context is alive.
    SSL_CTX_set_cert_cb(settings, showCertificate, Unmanaged.passUnretained(context).toOpaque())
}

/// - Returns: 1 to continue the handshake, 0 to fail it.
private func showCertificate(_ handshake: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let handshake, let argument else { return 0 }
    let context = Unmanaged<LWSContext>.fromOpaque(argument).takeUnretainedValue()
    return context.certificate?.install(in: handshake) == true ? 1 : 0
}
