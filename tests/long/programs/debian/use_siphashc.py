# packages: python3-siphashc
import siphashc

assert siphashc.siphash("sixteencharstrng", "i need a hash of this") == 10796923698683394048
