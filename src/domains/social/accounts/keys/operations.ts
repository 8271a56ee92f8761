import { operation } from '../../../../core/operation.ts'
import { accepted } from '../../../../core/reply.ts'
import { Envelope, Id, named, Type } from '../../../../core/schema.ts'

const KeyRotation = named(
  'KeyRotation',
  Type.Object({
    keyId: Type.String({ ...Id, description: 'The new key' }),
    credentialCount: Type.Integer({ description: 'How many credentials a job now encrypts with it' }),
  }),
)

export const rotateKeys = operation({
  route: 'POST /api/keys/rotate',
  summary: 'Rotate the key that encrypts the credentials of social accounts',
  description:
    'New credentials use the new key at once, on other nodes within a minute. A job encrypts the others with it, and with them the keys and apps with which this server signs in to platforms. All accounts can be used in the meantime. Keys that nothing uses are deleted after an hour.',
  access: 'admin',
  returns: { 202: Envelope(KeyRotation) },
  example: {},
  handle: async ({ socialAccounts }) => accepted('Key rotated', await socialAccounts.upkeep.rotateKeys()),
})
