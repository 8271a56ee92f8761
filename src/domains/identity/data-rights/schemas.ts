import { named, Nullable, Timestamp, Type, type Static } from '../../../core/schema.ts'
import { Proof } from '../auth/index.ts'

export const DeletionRequest = Proof
export type DeletionProof = Static<typeof DeletionRequest>

export const AccountDeletionView = named(
  'AccountDeletion',
  Type.Object({
    requestedAt: Nullable({ ...Timestamp, description: 'When you asked for it' }),
    deleteAt: Nullable({ ...Timestamp, description: 'Until then you can keep the account' }),
  }),
)

export type AccountDeletionData = Static<typeof AccountDeletionView>
