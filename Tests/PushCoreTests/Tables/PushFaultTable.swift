/// What comes of each answer and of each fault, to a call's push unless its row says `+notice`.
///
/// - `then`: what the machine does about it, up to the next try; `back` is given back to the call core, `again` is
///   that, announced and submitted. Outcomes and alarms have columns of their own.
/// - `sends`: how often the push goes out if the trouble comes every time, and when it goes out again if it comes once
///   (`soon`: after a wait that is spread by chance).
/// - `ends`: how it ends if the trouble comes every time; `dead` is rejected with a dead token.
/// - `once`: how it ends if the trouble comes once.
/// - `alarm`: raised if it comes every time.
/// - `pool`: whether the connection it came on is still used.
/// - `key`: the credential, which was refused once before: proven `good`, `same`, or `bad` for once more.
///
/// `+old`: the token was half an hour old; `+cert`: there was none, but a client certificate.
let pushFaultTable = """
    # trouble                          | then                   | sends    | ends     | once     | alarm   | pool | key

    ## APNs, by its reason
    BadCollapseId                      | -                      | 1        | rejected | rejected | -       | kept | same
    BadDeviceToken                     | -                      | 1        | dead     | dead     | address | kept | good
    BadExpirationDate                  | -                      | 1        | rejected | rejected | -       | kept | same
    BadMessageId                       | -                      | 1        | rejected | rejected | -       | kept | same
    BadPriority                        | -                      | 1        | rejected | rejected | -       | kept | same
    BadTopic                           | -                      | 1        | rejected | rejected | address | kept | same
    DeviceTokenNotForTopic             | -                      | 1        | dead     | dead     | address | kept | good
    DuplicateHeaders                   | -                      | 1        | rejected | rejected | -       | kept | same
    IdleTimeout                        | again                  | 2 now    | rejected | accepted | -       | kept | same
    InvalidPushType                    | -                      | 1        | rejected | rejected | -       | kept | same
    MissingDeviceToken                 | -                      | 1        | rejected | rejected | -       | kept | same
    MissingTopic                       | -                      | 1        | rejected | rejected | address | kept | same
    PayloadEmpty                       | -                      | 1        | rejected | rejected | -       | kept | same
    TopicDisallowed                    | -                      | 1        | rejected | rejected | address | kept | same
    BadCertificate                     | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    BadCertificateEnvironment          | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    ExpiredProviderToken               | 2close sign open again | 2 now    | rejected | accepted | clock   | gone | bad
    Forbidden                          | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    InvalidProviderToken               | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    MissingProviderToken               | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    UnrelatedKeyIdInToken              | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    BadEnvironmentKeyIdInToken         | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    BadPath                            | -                      | 1        | rejected | rejected | -       | kept | same
    MethodNotAllowed                   | -                      | 1        | rejected | rejected | -       | kept | same
    ExpiredToken                       | -                      | 1        | dead     | dead     | -       | kept | good
    Unregistered                       | -                      | 1        | dead     | dead     | -       | kept | good
    PayloadTooLarge                    | -                      | 1        | rejected | rejected | -       | kept | same
    TooManyProviderTokenUpdates        | close again            | 2 now    | rejected | accepted | -       | gone | same
    TooManyRequests                    | -                      | 1        | rejected | rejected | -       | kept | good
    InternalServerError                | again                  | 2 now    | rejected | accepted | -       | kept | same
    ServiceUnavailable                 | again                  | 2 now    | rejected | accepted | -       | kept | same
    Shutdown                           | close again            | 2 now    | rejected | accepted | -       | gone | same

    ## APNs: what the circumstances change
    ExpiredProviderToken +old          | close sign open again  | 2 now    | rejected | accepted | clock   | gone | bad
    ExpiredProviderToken +cert         | close again            | 2 now    | rejected | accepted | key     | gone | bad
    InvalidProviderToken +old          | close sign open again  | 2 now    | rejected | accepted | key     | gone | bad
    InvalidProviderToken +cert         | close again            | 2 now    | rejected | accepted | key     | gone | bad
    BadCertificate +cert               | close again            | 2 now    | rejected | accepted | key     | gone | bad
    TooManyProviderTokenUpdates +old   | close sign open again  | 2 now    | rejected | accepted | -       | gone | same
    InternalServerError +notice        | again                  | 2 900s   | rejected | accepted | -       | kept | same
    ServiceUnavailable +notice         | again                  | 2 900s   | rejected | accepted | -       | kept | same
    Shutdown +notice                   | close again            | 2 900s   | rejected | accepted | -       | gone | same

    ## Statuses without a reason in the table
    HTTP 200                           | -                      | 1        | accepted | accepted | -       | kept | good
    HTTP 302                           | -                      | 1        | rejected | rejected | -       | kept | same
    HTTP 400                           | -                      | 1        | rejected | rejected | -       | kept | same
    HTTP 403                           | 2close sign open again | 2 now    | rejected | accepted | key     | gone | bad
    HTTP 404                           | -                      | 1        | rejected | rejected | -       | kept | same
    HTTP 405                           | -                      | 1        | rejected | rejected | -       | kept | same
    HTTP 410                           | -                      | 1        | dead     | dead     | -       | kept | good
    HTTP 413                           | -                      | 1        | rejected | rejected | -       | kept | same
    HTTP 429                           | -                      | 1        | rejected | rejected | -       | kept | good
    HTTP 500                           | again                  | 2 now    | rejected | accepted | -       | kept | same
    HTTP 502                           | again                  | 2 now    | rejected | accepted | -       | kept | same
    HTTP 503                           | again                  | 2 now    | rejected | accepted | -       | kept | same
    HTTP 599                           | again                  | 2 now    | rejected | accepted | -       | kept | same

    ## FCM, with the time it asks for where it does
    FCM 200 OK                         | -                      | 1        | accepted | accepted | -       | kept | good
    FCM 400 INVALID_ARGUMENT           | -                      | 1        | rejected | rejected | -       | kept | same
    FCM 401 UNAUTHENTICATED            | sign again             | 2 now    | rejected | accepted | key     | kept | bad
    FCM 401 UNAUTHENTICATED +old       | sign again             | 2 now    | rejected | accepted | key     | kept | bad
    FCM 401 THIRD_PARTY_AUTH_ERROR     | again                  | 2 now    | rejected | accepted | address | kept | good
    FCM 403 SENDER_ID_MISMATCH         | -                      | 1        | rejected | rejected | address | kept | same
    FCM 403 PERMISSION_DENIED          | sign again             | 2 now    | rejected | accepted | key     | kept | bad
    FCM 403 PERMISSION_DENIED +old     | sign again             | 2 now    | rejected | accepted | key     | kept | bad
    FCM 404 UNREGISTERED               | -                      | 1        | dead     | dead     | -       | kept | good
    FCM 429 QUOTA_EXCEEDED             | again                  | 2 1s     | rejected | accepted | -       | kept | good
    FCM 429 QUOTA_EXCEEDED 20s         | again                  | 2 20s    | rejected | accepted | -       | kept | good
    FCM 429 QUOTA_EXCEEDED 60s         | -                      | 1        | rejected | rejected | -       | kept | good
    FCM 429 QUOTA_EXCEEDED +notice     | again                  | 2 1s     | rejected | accepted | -       | kept | good
    FCM 429 QUOTA_EXCEEDED/device 20s  | -                      | 1        | rejected | rejected | -       | kept | good
    FCM 429 QUOTA_EXCEEDED/project     | again                  | 2 soon   | rejected | accepted | quota   | kept | good
    FCM 429 QUOTA_EXCEEDED/project 20s | again                  | 2 20s    | rejected | accepted | quota   | kept | good
    FCM 429 QUOTA_EXCEEDED/project 44s | -                      | 1        | rejected | rejected | quota   | kept | good
    FCM 429 RESOURCE_EXHAUSTED 20s     | again                  | 2 20s    | rejected | accepted | -       | kept | good
    FCM 500 UNSPECIFIED_ERROR          | again                  | 2 now    | rejected | accepted | -       | kept | same
    FCM 500 INTERNAL                   | again                  | 2 now    | rejected | accepted | -       | kept | same
    FCM 503 UNAVAILABLE                | again                  | 2 now    | rejected | accepted | -       | kept | same
    FCM 503 UNAVAILABLE 20s            | again                  | 2 20s    | rejected | accepted | -       | kept | same
    FCM 503 UNAVAILABLE 60s            | -                      | 1        | rejected | rejected | -       | kept | same
    FCM 503 UNAVAILABLE +notice        | again                  | 2 900s   | rejected | accepted | -       | kept | same
    FCM 500 INTERNAL 1200s +notice     | again                  | 2 900s   | rejected | accepted | -       | kept | same

    ## On the wire
    refusedStream                      | again                  | many now | unsent   | accepted | -       | kept | same
    resetStream                        | -                      | 1        | unknown  | unknown  | -       | kept | same
    goAwayBelow                        | 3ping cancel close     | 1        | unknown  | unknown  | -       | gone | same
    goAwayAbove                        | close again            | many now | unsent   | accepted | -       | gone | same
    goAwayTwice                        | close again            | many now | unsent   | accepted | -       | gone | same
    goAwayZero                         | close again            | many now | unsent   | accepted | -       | gone | same
    noAnswer                           | 3ping cancel           | 1        | unknown  | unknown  | -       | kept | same
    blackHole                          | ping close             | 1        | unknown  | unknown  | -       | gone | same
    connectionLost                     | -                      | 1        | unknown  | unknown  | -       | gone | same
    limitFalls                         | -                      | 1        | accepted | accepted | -       | kept | good
    connectionLost +notice             | -                      | 1        | unknown  | unknown  | -       | gone | same
    noAnswer +notice                   | 3ping cancel           | 1        | unknown  | unknown  | -       | kept | same

    ## On the way there
    limitFallsBeforeClear              | back                   | 0        | unsent   | accepted | -       | -    | same
    notSubmitted                       | submit                 | 0        | unsent   | accepted | -       | kept | same
    connectTimeout                     | sign 2open             | 0        | unsent   | accepted | connect | -    | good
    connectRefused                     | sign 2open             | 0        | unsent   | accepted | connect | -    | good
    signingFails                       | sign open              | 0        | unsent   | unsent   | signing | -    | same
    fetchFails                         | sign 2open sign        | 0        | unsent   | accepted | signing | -    | bad
    """
