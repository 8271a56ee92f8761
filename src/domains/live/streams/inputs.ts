import { Input, Nullable, OneOf, States } from '../../../core/schema.ts'

/** Which of a stream's two encoders is on the air. */

/** The keys that an encoder can come with. */
export const INPUT_SOURCES = ['primary', 'backup'] as const
export type InputSource = (typeof INPUT_SOURCES)[number]

export const PublisherSource = States('PublisherSource', 'What publishes into a stream', {
  primary: 'The encoder that came with `streamKey`',
  backup: 'The encoder that came with `backupStreamKey`',
  file: 'A broadcast of files from the media library',
})

/** `primary`: it takes over when it comes or comes back. `current`: the encoder on the air stays until it fails. */
export const INPUT_PREFERENCES = ['primary', 'current'] as const
export type InputPreference = (typeof INPUT_PREFERENCES)[number]

export const InputChangeReason = States('InputChangeReason', 'Why another publisher is on the air', {
  preferred: 'It is the preferred one and came, or came back',
  selected: 'Somebody selected it by hand',
  silent: 'The one before is connected and sends nothing',
  ended: 'The one before has gone',
})

export const inputPreference = OneOf(INPUT_PREFERENCES, {
  description:
    'Which encoder is on the air while both send. `primary`: the one with `streamKey` takes over when it comes, and comes back when it has been steady for a while. `current`: the one on the air stays until it fails',
})

/** As a stream shows it. */
export const inputSelected = Nullable(
  OneOf(INPUT_SOURCES, { description: 'The encoder that was selected by hand, until the stream ends' }),
)

export const SwitchInput = Input({ source: OneOf(INPUT_SOURCES, { description: 'By which key the encoder came' }) })
