import { Type, type TOptional } from 'typebox'

/** A poll of a post, as the option `poll` has it at every platform with polls. */
export interface Poll {
  /** Where the question of a poll is not the text of the post. */
  readonly question?: string
  readonly options: readonly string[]
  readonly durationMinutes?: number
  /** Where voters can choose several answers. */
  readonly multiple?: boolean
}

/** How long a poll lasts where the platform asks for a duration and the post has none. */
const DAY_MINUTES = 1_440

/** An answer is one line. */
const ANSWER = String.raw`^[^\r\n]+$`

interface PollFields {
  /** Whether the question has a field of its own. Elsewhere, it is the text of the post. */
  readonly question?: boolean
  /** Whether a poll can have several answers of one voter. */
  readonly multiple?: boolean
  /** Whether polls without an end exist. */
  readonly endless?: boolean
}

/**
 * The option `poll`. It has the same fields everywhere, without those that a platform does not have. The rules `poll.*`
 * of the platform have the limits, because servers and accounts differ in them.
 */
export function pollOption({ endless = false, multiple = false, question = false }: PollFields): TOptional {
  const duration = endless ? 'It stays open if absent.' : 'A day if absent.'
  return Type.Optional(
    Type.Object(
      {
        ...(question && {
          question: Type.String({ minLength: 1, pattern: String.raw`\S`, description: 'What is asked.' }),
        }),
        options: Type.Array(Type.String({ minLength: 1, pattern: ANSWER }), {
          minItems: 1,
          uniqueItems: true,
          description: 'The answers, each in one line.',
        }),
        durationMinutes: Type.Optional(
          Type.Integer({ minimum: 1, description: `How long the poll is open, in minutes. ${duration}` }),
        ),
        ...(multiple && {
          multiple: Type.Optional(Type.Boolean({ description: 'Voters can choose several answers.' })),
        }),
      },
      {
        additionalProperties: false,
        description: question ? 'A poll below the text.' : 'A poll whose question is the text of the post.',
      },
    ),
  )
}

/** The poll in options; undefined if there is none, or if it has another form, which the schema of the options refuses. */
export function pollOf(options: Readonly<Record<string, unknown>>): Poll | undefined {
  const poll = options['poll'] as Poll | null | undefined
  if (typeof poll !== 'object' || poll === null || !Array.isArray(poll.options)) return undefined
  return poll.options.every((option) => typeof option === 'string') ? poll : undefined
}

/** How long a poll is open, in minutes. */
export function pollMinutes({ durationMinutes = DAY_MINUTES }: Poll): number {
  return durationMinutes
}

/** The options of a part without its poll. Only the first part of a post has one. */
export function withoutPoll<T extends Readonly<Record<string, unknown>>>({ poll: _poll, ...options }: T) {
  return options
}
