import { LLMock, type FixtureOpts } from '@copilotkit/aimock'
import { randomOf } from '../support/random.ts'

/** What the model does with a request. `kill` ends the node before it replies, `late kill` while the node reads the reply. */
const BEHAVIOURS = {
  whole: {},
  fewer: {},
  slow: { chaos: { latencyMs: 700 } },
  'very slow': { chaos: { latencyMs: 3_000 } },
  cut: { chaos: { disconnectRate: 1 } },
  broken: { chaos: { malformedRate: 1 } },
  fault: { chaos: { dropRate: 1 } },
  'too many requests': { chaos: { rateLimitRate: 1 } },
  'invalid JSON': {},
  'wrong schema': {},
  prose: {},
  empty: {},
  refusal: {},
  kill: { chaos: { latencyMs: 50, disconnectRate: 1 } },
  'late kill': {},
} as const satisfies Readonly<Record<string, FixtureOpts>>
type Behaviour = keyof typeof BEHAVIOURS

/** Half of the replies are whole, so that most work ends well after its faults. */
const COMMON: readonly Behaviour[] = Array.from({ length: 10 }, () => 'whole')
const BAD = Object.keys(BEHAVIOURS).filter((one) => one !== 'kill' && one !== 'late kill') as Behaviour[]

/** The share of requests to the model with a kill. A node takes seconds to start, and plays many histories at once. */
const KILLS = 0.01

/**
 * A model behind an OpenAI-compatible API (`@copilotkit/aimock`), which misbehaves at random. Each text that it writes
 * contains the topic of the request.
 */
export class UnrulyModel {
  readonly #mock = new LLMock({ host: '127.0.0.1', port: 0 })
  readonly #random: () => number
  readonly #chosen = new WeakMap<object, Behaviour>()
  readonly counts = new Map<Behaviour, number>()
  /** Ends the node that has asked. */
  onKill: () => void = () => undefined

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  async start(): Promise<string> {
    for (const [behaviour, options] of Object.entries(BEHAVIOURS) as [Behaviour, FixtureOpts][]) {
      this.#mock.on(
        { predicate: (request) => this.#choose(request) === behaviour },
        (request) => this.#reply(behaviour, request),
        options,
      )
    }
    await this.#mock.start()
    return this.#mock.url
  }

  stop(): Promise<void> {
    return this.#mock.stop()
  }

  #choose(request: object): Behaviour {
    const known = this.#chosen.get(request)
    if (known !== undefined) return known
    const pick = (all: readonly Behaviour[]) => all[Math.floor(this.#random() * all.length)] ?? 'whole'
    const behaviour = this.#random() < KILLS ? pick(['kill', 'late kill']) : pick([...COMMON, ...BAD])
    this.#chosen.set(request, behaviour)
    this.counts.set(behaviour, (this.counts.get(behaviour) ?? 0) + 1)
    if (behaviour === 'kill') this.onKill()
    if (behaviour === 'late kill') setTimeout(() => this.onKill(), this.#random() * 60)
    return behaviour
  }

  #reply(behaviour: Behaviour, request: ModelRequest): object {
    if (request._endpointType === 'transcription') return speech(behaviour)
    if (behaviour === 'refusal') return { content: '', finishReason: 'content_filter' }
    if (behaviour === 'empty') return { content: '' }
    if (behaviour === 'prose') return { content: 'Sure! Here is what you asked for.' }
    if (behaviour === 'invalid JSON') return { content: '{"captions": [{' }
    if (behaviour === 'wrong schema') return { content: '{"captions": [{"text": 5}], "sentences": 1}' }
    const document = JSON.parse(String(request.messages.find(({ role }) => role === 'user')?.content)) as Document
    if (document.facts !== undefined) {
      const [{ factNumber, statement } = { factNumber: 1, statement: '' }] = document.facts
      return { content: JSON.stringify({ sentences: [{ text: statement, factNumbers: [factNumber] }] }) }
    }
    const count = behaviour === 'fewer' ? 1 : 5
    const captions = Array.from({ length: count }, (_, index) => ({
      title: '',
      text: `${document.text} (${'abcde'[index]})`,
      hashtags: ['#night'],
    }))
    return { content: JSON.stringify({ captions }) }
  }
}

interface ModelRequest {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly _endpointType?: string | undefined
}

interface Document {
  readonly text: string | null
  readonly facts?: readonly { readonly factNumber: number; readonly statement: string }[]
}

function speech(behaviour: Behaviour): object {
  if (behaviour === 'refusal') return { error: { message: 'refused' }, status: 400 }
  if (behaviour === 'wrong schema') return { transcription: { text: 'Hello.', segments: [{ start: 'now' }] } }
  if (behaviour === 'empty') return { error: { message: 'not now' }, status: 503 }
  return {
    transcription: { text: 'Hello.', language: 'english', segments: [{ id: 0, start: 0, end: 1, text: 'Hello.' }] },
  }
}
