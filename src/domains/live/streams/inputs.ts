import { Input, Nullable, OneOf, States } from '../../../core/schema.ts'

/** Which of the two encoders of a stream is live. */

/** The keys that an encoder can use. */
export const INPUT_SOURCES = ['primary', 'backup'] as const
export type InputSource = (typeof INPUT_SOURCES)[number]

export const PublisherSource = States('PublisherSource', 'What publishes into a stream', {
  primary: 'The encoder that uses `streamKey`',
  backup: 'The encoder that uses `backupStreamKey`',
  file: 'Files from the media library',
})

/** `primary`: it takes over when it connects. `current`: the live encoder stays live until it fails. */
export const INPUT_PREFERENCES = ['primary', 'current'] as const
export type InputPreference = (typeof INPUT_PREFERENCES)[number]

export const InputChangeReason = States('InputChangeReason', 'Why another publisher is live', {
  preferred: 'It is preferred, and has connected or reconnected',
  selected: 'A user selected it',
  silent: 'The previous one is connected but sends nothing',
  ended: 'The previous one has disconnected',
})

export const inputPreference = OneOf(INPUT_PREFERENCES, {
  description:
    'Which encoder is live while both send. `primary`: the one with `streamKey` takes over when it connects, and again after a failure once it is stable. `current`: the live one stays live until it fails',
})

/** The field of a stream. */
export const inputSelected = Nullable(
  OneOf(INPUT_SOURCES, { description: 'The encoder that a user selected. It applies until the stream ends' }),
)

export const SwitchInput = Input({ source: OneOf(INPUT_SOURCES, { description: 'The key that the encoder uses' }) })
