export { TokenBucket } from '../../media/token-bucket.ts'
