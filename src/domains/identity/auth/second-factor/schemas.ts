import { Input, named, Nullable, Text, Timestamp, Type, type Static } from '../../../../core/schema.ts'
import { Id } from '../../../../core/schema.ts'
import { GivenPassword } from '../password-rules.ts'
import { SessionIn } from '../schemas.ts'

const Code = Text(6, 40, {
  description: 'The six digits that the authenticator app shows, or a recovery code',
})

/** What proves again who the caller is. */
export const Proof = Input({
  password: Type.Optional({
    ...GivenPassword,
    description: 'Your password. Without it, the session must be from a login within the last 10 minutes',
  }),
  code: Type.Optional({ ...Code, description: 'Needed with `password` if the second factor is on' }),
})
export type ProofData = Static<typeof Proof>

export const SecondFactorSignInBody = Input({
  challenge: Text(1, 1_000, { description: '`details.challenge` of the error `second_factor_required`' }),
  code: Code,
  deviceToken: Type.Optional(Text(1, 100, { description: 'The token from an earlier login on this device' })),
  session: SessionIn,
})
export type SecondFactorSignIn = Static<typeof SecondFactorSignInBody>

export const SecondFactorView = named(
  'SecondFactor',
  Type.Object({
    enabled: Type.Boolean({ description: 'Whether sign-ins need a code of the authenticator app' }),
    enabledAt: Nullable(Timestamp),
    recoveryCodesLeft: Type.Integer(),
  }),
)

export const EnrolmentView = named(
  'SecondFactorEnrolment',
  Type.Object({
    secret: Type.String({ description: 'The secret in Base32, for apps that cannot read the QR code' }),
    uri: Type.String({ description: 'The `otpauth:` URI for the authenticator app' }),
    qrCode: Type.String({ description: 'The URI as a QR code: a `data:` URL of an SVG picture' }),
    expiresAt: { ...Timestamp, description: 'Confirm with a code before this time' },
  }),
)

export const Confirmation = Input({
  code: Type.String({ pattern: '^\\d{3} ?\\d{3}$', description: 'The six digits that the app shows' }),
})

export const RecoveryCodesView = named(
  'RecoveryCodes',
  Type.Object({
    recoveryCodes: Type.Array(Type.String(), {
      description: 'Each works once in place of a code of the app. They are shown only here',
    }),
  }),
)

export const UserPath = Input({ id: Id })
export const Reset = Input({
  reason: Text(1, 500, { description: 'Why, for the audit log: how the person proved who they are' }),
})
