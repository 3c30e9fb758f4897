import Testing

@testable import LoadTest

@Suite("The cores that a run may use") struct UsableCoresTests {
    @Test("are those that the process may run on, not those of the machine")
    func affinity() {
        let status = "Name:\treveille\nCpus_allowed:\t%\nCpus_allowed_list:\t0-1\n"
        for (mask, count) in [("3", 2), ("00000000,00000001", 1), ("ff,ffffffff", 40), ("8000", 1)] {
            #expect(LoadEnvironment.cores(status: status.replacing("%", with: mask)) == count, "\(mask)")
        }
        for text in ["", "Cpus_allowed:\t0\n"] { #expect(LoadEnvironment.cores(status: text) == nil) }
        #expect(LoadEnvironment.usableCores >= 1)
        #expect(LoadEnvironment.current(version: "1").cores == LoadEnvironment.usableCores)
    }
}
