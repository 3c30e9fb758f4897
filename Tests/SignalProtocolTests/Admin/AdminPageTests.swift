import CallVocabulary
import SignalProtocol
import Testing

@Suite("Lists of the admin API in pages")
struct AdminPageTests {
    /// The widest a name can be: every byte is escaped.
    private func wide(_ number: Int) -> Handle {
        let digits = String(number)
        return Samples.handle(digits + String(repeating: "\"", count: Handle.longest - digits.utf8.count))
    }

    private func size(_ answer: AdminAnswer) -> Int {
        var frame: [UInt8] = []
        AdminEncoder.encode(answer, into: &frame)
        return frame.count
    }

    /// All pages of a list, each of which has to fit a frame.
    private func pages(_ list: AdminReply) -> [AdminReply] {
        var pages: [AdminReply] = []
        var after: String?
        repeat {
            let (page, next) = list.page(after: after)
            #expect(size(.reply(.string(String(repeating: "\"", count: 256)), page, next: next)) <= AdminLimits.frame)
            pages.append(page)
            after = next
        } while after != nil && pages.count < 100
        return pages
    }

    @Test("the largest group fits a frame, both ways")
    func largestGroup() throws {
        let group = CallGroup(
            name: wide(0).text, strategy: .hunt, members: (0..<CallGroup.mostMembers).map { wide($0) })
        #expect(pages(.groups([group])) == [.groups([group])])
        #expect(size(.reply(.number(.min), .group(group))) <= AdminLimits.frame)
        var frame: [UInt8] = []
        let call = AdminCall(id: .number(1), .command(.setGroup(group)))
        AdminEncoder.encode(call, into: &frame)
        #expect(frame.withUnsafeBytes { AdminDecoder.decode(frame: $0) } == .success(call))
    }

    @Test("groups that do not fit one frame come in several, in the order of names, none lost and none twice")
    func groups() {
        let members = (0..<CallGroup.mostMembers).map { wide($0) }
        // Two of them fill a frame. Added out of order; by bytes, "10" comes before "9".
        let all = [9, 3, 10, 1, 7].map { CallGroup(name: "\($0)", strategy: .all, members: members) }
        let pages = pages(.groups(all))
        #expect(pages.count == 3)
        let names = pages.flatMap { page -> [String] in
            if case .groups(let groups) = page { groups.map(\.name) } else { [] }
        }
        #expect(names == ["1", "10", "3", "7", "9"])
    }

    @Test("aliases come in as few pages as they fit, and a page begins behind a name that is gone")
    func aliases() {
        let all = (0..<3000).reversed().map { Alias(handle: wide($0), user: wide($0)) }
        let pages = pages(.aliases(all))
        #expect(pages.count == 4)
        let found = pages.flatMap { page -> [Alias] in if case .aliases(let aliases) = page { aliases } else { [] } }
        #expect(found == all.sorted { $0.handle < $1.handle })
        let few = AdminReply.aliases([AdminSamples.alias, Alias(handle: Samples.alice, user: Samples.phone)])
        #expect(few.page(after: "+9").reply == .aliases([Alias(handle: Samples.alice, user: Samples.phone)]))
        #expect(few.page(after: "alice").reply == .aliases([]))
        #expect(few.page(after: "alice").next == nil)
    }

    @Test("what is no list stays as it is")
    func others() {
        for reply in [AdminReply.done, .group(AdminSamples.sales), .user(AdminSamples.user)] {
            #expect(reply.page(after: "x").reply == reply)
            #expect(reply.page(after: nil).next == nil)
        }
    }
}
