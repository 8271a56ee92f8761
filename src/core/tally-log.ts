/** HTTP, sockets, RTMP and WHIP share one way to count log lines that anonymous clients can cause in any number. */
export { reasonOf, TallyLog } from '../../media/tally-log.ts'
