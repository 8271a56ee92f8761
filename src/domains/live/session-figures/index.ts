/** What other domains use of the figures of live sessions. */

export { SessionSampler } from './sampler.ts'
